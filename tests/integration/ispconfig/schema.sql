-- The tables of ISPConfig's database that its remote API touches, in SQLite,
-- and two tables of the double's own: variant and call_log.

CREATE TABLE config (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

CREATE TABLE sys_user (
  userid INTEGER PRIMARY KEY AUTOINCREMENT,
  username TEXT NOT NULL,
  passwort TEXT NOT NULL,
  default_group INTEGER NOT NULL,
  client_id INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE client (
  client_id INTEGER PRIMARY KEY AUTOINCREMENT,
  can_use_api TEXT NOT NULL DEFAULT 'n'
);

CREATE TABLE server (
  server_id INTEGER PRIMARY KEY AUTOINCREMENT,
  server_name TEXT NOT NULL,
  updated INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE remote_user (
  remote_userid INTEGER PRIMARY KEY AUTOINCREMENT,
  remote_username TEXT NOT NULL UNIQUE,
  remote_password TEXT NOT NULL,
  remote_access TEXT NOT NULL DEFAULT 'y',
  remote_ips TEXT NOT NULL DEFAULT '',
  remote_functions TEXT NOT NULL DEFAULT ''
);

CREATE TABLE remote_session (
  remote_session TEXT PRIMARY KEY,
  remote_userid INTEGER NOT NULL,
  remote_functions TEXT NOT NULL,
  client_login INTEGER NOT NULL DEFAULT 0,
  remote_ip TEXT NOT NULL,
  tstamp INTEGER NOT NULL
);

CREATE TABLE attempts_login (
  ip TEXT PRIMARY KEY,
  times INTEGER NOT NULL,
  login_time INTEGER NOT NULL
);

CREATE TABLE dns_soa (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  sys_userid INTEGER NOT NULL DEFAULT 1,
  sys_groupid INTEGER NOT NULL DEFAULT 1,
  sys_perm_user TEXT NOT NULL DEFAULT 'riud',
  sys_perm_group TEXT NOT NULL DEFAULT 'riud',
  sys_perm_other TEXT NOT NULL DEFAULT '',
  server_id INTEGER NOT NULL DEFAULT 1,
  origin TEXT NOT NULL DEFAULT '',
  ns TEXT NOT NULL DEFAULT '',
  mbox TEXT NOT NULL DEFAULT '',
  serial INTEGER NOT NULL DEFAULT 1,
  refresh INTEGER NOT NULL DEFAULT 28800,
  retry INTEGER NOT NULL DEFAULT 7200,
  expire INTEGER NOT NULL DEFAULT 604800,
  minimum INTEGER NOT NULL DEFAULT 3600,
  ttl INTEGER NOT NULL DEFAULT 3600,
  active TEXT NOT NULL DEFAULT 'N',
  xfer TEXT NOT NULL DEFAULT '',
  also_notify TEXT NOT NULL DEFAULT '',
  update_acl TEXT NOT NULL DEFAULT '',
  dnssec_initialized TEXT NOT NULL DEFAULT 'N',
  dnssec_wanted TEXT NOT NULL DEFAULT 'N',
  dnssec_algo TEXT NOT NULL DEFAULT '',
  dnssec_last_signed INTEGER NOT NULL DEFAULT 0,
  dnssec_info TEXT NOT NULL DEFAULT '',
  rendered_zone TEXT
);

CREATE TABLE dns_rr (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  sys_userid INTEGER NOT NULL DEFAULT 1,
  sys_groupid INTEGER NOT NULL DEFAULT 1,
  sys_perm_user TEXT NOT NULL DEFAULT 'riud',
  sys_perm_group TEXT NOT NULL DEFAULT 'riud',
  sys_perm_other TEXT NOT NULL DEFAULT '',
  server_id INTEGER NOT NULL DEFAULT 1,
  zone INTEGER NOT NULL DEFAULT 0,
  name TEXT NOT NULL DEFAULT '',
  type TEXT NOT NULL DEFAULT '',
  data TEXT NOT NULL DEFAULT '',
  aux INTEGER NOT NULL DEFAULT 0,
  ttl INTEGER NOT NULL DEFAULT 3600,
  active TEXT NOT NULL DEFAULT 'N',
  stamp TEXT NOT NULL DEFAULT '0000-00-00 00:00:00',
  serial INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX dns_rr_zone ON dns_rr (zone, type, name);

-- data is a JSON object {"old": {...}, "new": {...}} here, PHP's serialised
-- form in ISPConfig.
CREATE TABLE sys_datalog (
  datalog_id INTEGER PRIMARY KEY AUTOINCREMENT,
  server_id INTEGER NOT NULL,
  dbtable TEXT NOT NULL,
  dbidx TEXT NOT NULL,
  action TEXT NOT NULL,
  tstamp INTEGER NOT NULL,
  user TEXT NOT NULL,
  data TEXT NOT NULL,
  error TEXT
);

-- A planted misbehaviour: fires for methods that match the glob pattern
-- method, after skip matching requests, times times (-1: for ever).
CREATE TABLE variant (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  arg TEXT NOT NULL DEFAULT '',
  method TEXT NOT NULL DEFAULT '*',
  skip INTEGER NOT NULL DEFAULT 0,
  times INTEGER NOT NULL DEFAULT -1
);

-- Every HTTP request, in order of arrival. args is JSON, NULL when the call
-- never reached its function. outcome: "ok", a fault code, or a variant.
CREATE TABLE call_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  endpoint TEXT NOT NULL,
  address TEXT NOT NULL,
  method TEXT NOT NULL,
  args TEXT,
  outcome TEXT,
  body BLOB NOT NULL
);
