<?php
// What both endpoints share: the database, the log and the variants.
declare(strict_types=1);

require __DIR__ . '/store.php';
require __DIR__ . '/forms.php';
require __DIR__ . '/session.php';
require __DIR__ . '/variants.php';
require __DIR__ . '/remote.php';

date_default_timezone_set('UTC');
header('Pragma: no-cache');
header('Cache-Control: no-store, no-cache, max-age=0, must-revalidate');
header('Content-Type: text/html; charset=utf-8');
