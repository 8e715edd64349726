<?php
/* What an admin's cron script does: one row after the other, fsockopen() with 1 s. cron.php ROWS PERCENT_DEAD PORT */
[, $rows, $dead, $port] = array_map('intval', $argv);
$t0 = hrtime(true);
$ok = $down = 0;
for ($i = 0; $i < $rows; $i++) {
    /* The dead ones spread evenly: a short run has its share too. */
    $net = intdiv(($i + 1) * $dead, 100) > intdiv($i * $dead, 100) ? 128 : 0;
    $host = sprintf('127.%d.%d.%d', $net, 1 + intdiv($i, 250), 1 + $i % 250);
    $s = @fsockopen($host, $port, $errno, $errstr, 1);
    if ($s) {
        $ok++;
        fclose($s);
    } else {
        $down++;
    }
}
$r = getrusage();
printf("{\"bench\":\"php\",\"n\":%d,\"ok\":%d,\"down\":%d,\"wall_s\":%.3f,\"cpu_us\":%.1f,\"peak_kb\":%d}\n", $rows, $ok, $down,
    (hrtime(true) - $t0) / 1e9, ($r['ru_utime.tv_sec'] * 1e6 + $r['ru_utime.tv_usec'] + $r['ru_stime.tv_sec'] * 1e6 + $r['ru_stime.tv_usec']) / $rows, $r['ru_maxrss']);
