"""Real servers of Debian as targets of probes: each a context manager that
yields {kind: port}, over TLS with a certificate for HOST."""

import contextlib
import functools
import os
import sys

import pytest

import net
from probe_help import listens, program, running

HOST = "mail.example.test"
TRIES = 3


def on_free_ports(start):
    """A server of start(authority, folder). Another program may take one of its
    ports before it does: then it is tried again, in another folder."""
    begin = contextlib.contextmanager(start)

    @contextlib.contextmanager
    @functools.wraps(start)
    def again(authority, folder):
        with contextlib.ExitStack() as stack:
            for i in range(TRIES):
                place = folder / str(i)
                place.mkdir(mode=0o755)
                try:
                    ports = stack.enter_context(begin(authority, place))
                    break
                except RuntimeError:  # it ended by itself
                    if i + 1 == TRIES:
                        raise
            yield ports

    return again


@on_free_ports
def dovecot(authority, folder):
    dovecot = program("dovecot")
    if os.geteuid() != 0:
        pytest.skip("dovecot starts as root only")
    crt, key = authority.cert([HOST])
    folder.chmod(0o755)
    ports = [net.free_port() for _ in range(4)]
    (folder / "dovecot.conf").write_text(f"""
base_dir = {folder}/run
state_dir = {folder}/state
instance_name = test
log_path = {folder}/log
protocols = imap pop3
listen = 127.0.0.1
ssl = yes
ssl_cert = <{crt}
ssl_key = <{key}
mail_location = maildir:{folder}/mail
passdb {{
  driver = static
  args = password=x
}}
userdb {{
  driver = static
  args = uid=65534 gid=65534 home={folder}
}}
service imap-login {{
  inet_listener imap {{
    port = {ports[0]}
  }}
  inet_listener imaps {{
    port = {ports[1]}
  }}
}}
service pop3-login {{
  inet_listener pop3 {{
    port = {ports[2]}
  }}
  inet_listener pop3s {{
    port = {ports[3]}
  }}
}}
""")
    with running([dovecot, "-F", "-c", folder / "dovecot.conf"],
                 lambda: all(map(listens, ports)), folder / "out"):
        yield {"imap": ports[0], "imaps": ports[1], "pop3": ports[2],
               "pop3s": ports[3]}


@on_free_ports
def vsftpd(authority, folder):
    vsftpd = program("vsftpd")
    if os.geteuid() != 0:
        pytest.skip("vsftpd starts as root only")
    crt, key = authority.cert([HOST])
    plain, secure = net.free_port(), net.free_port()
    (folder / "empty").mkdir()
    common = (f"listen=YES\nlisten_address=127.0.0.1\nbackground=NO\n"
              f"secure_chroot_dir={folder}/empty\nanonymous_enable=YES\n"
              "connect_from_port_20=NO\nseccomp_sandbox=NO\n"
              f"anon_root={folder}/empty\n")
    (folder / "plain.conf").write_text(common + f"listen_port={plain}\n"
                                          "banner_file=" f"{folder}/hi\n")
    (folder / "hi").write_text("Welcome\n220 is not the end\nof this\n")
    (folder / "tls.conf").write_text(
        common + f"listen_port={secure}\nssl_enable=YES\nimplicit_ssl=YES\n"
        f"allow_anon_ssl=YES\nrsa_cert_file={crt}\nrsa_private_key_file={key}\n"
        "ssl_ciphers=HIGH\n")
    with running([vsftpd, folder / "plain.conf"], lambda: listens(plain),
                 folder / "out1"), \
            running([vsftpd, folder / "tls.conf"], lambda: listens(secure),
                    folder / "out2"):
        yield {"ftp": plain, "ftps": secure}


@on_free_ports
def slapd(authority, folder):
    slapd = program("slapd")
    crt, key = authority.cert([HOST])
    plain, secure = net.free_port(), net.free_port()
    (folder / "slapd.conf").write_text(
        f"pidfile {folder}/pid\nargsfile {folder}/args\n"
        f"TLSCertificateFile {crt}\nTLSCertificateKeyFile {key}\n"
        f"TLSCACertificateFile {authority.ca}\n")
    with running([slapd, "-d", "0", "-f", folder / "slapd.conf", "-h",
                  f"ldap://127.0.0.1:{plain}/ ldaps://127.0.0.1:{secure}/"],
                 lambda: listens(plain) and listens(secure),
                 folder / "out"):
        yield {"ldap": plain, "ldaps": secure}


SMTP = """
import asyncio, ssl, sys
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Sink
port, secure, crt, key = sys.argv[1:]
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(crt, key)
Controller(Sink(), hostname="127.0.0.1", port=int(port)).start()
Controller(Sink(), hostname="127.0.0.1", port=int(secure),
           ssl_context=tls).start()
import time
time.sleep(600)
"""


@on_free_ports
def aiosmtpd(authority, folder):
    pytest.importorskip("aiosmtpd")
    crt, key = authority.cert([HOST])
    plain, secure = net.free_port(), net.free_port()
    with running([sys.executable, "-c", SMTP, plain, secure, crt, key],
                 lambda: listens(plain) and listens(secure), folder / "out"):
        yield {"smtp": plain, "smtps": secure}


GRPC = """
import sys, time
from concurrent import futures
import grpc
port, secure, crt, key = sys.argv[1:]
SAYS = {b"": 1, b"up": 1, b"down": 2, b"odd": 9}

def check(request, context):
    name = request[2:]
    if name == b"slow":
        time.sleep(3)
    if name == b"denied":
        context.abort(grpc.StatusCode.PERMISSION_DENIED, "not you")
    if name not in SAYS:
        context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
    return bytes([8, SAYS[name]])

server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(
    "grpc.health.v1.Health",
    {"Check": grpc.unary_unary_rpc_method_handler(check)}),))
server.add_insecure_port("127.0.0.1:" + port)
server.add_secure_port("127.0.0.1:" + secure, grpc.ssl_server_credentials(
    [(open(key, "rb").read(), open(crt, "rb").read())]))
server.start()
server.wait_for_termination()
"""


@on_free_ports
def grpc(authority, folder):
    pytest.importorskip("grpc")
    crt, key = authority.cert([HOST])
    plain, secure = net.free_port(), net.free_port()
    with running([sys.executable, "-c", GRPC, plain, secure, crt, key],
                 lambda: listens(plain) and listens(secure), folder / "out"):
        yield {"grpc": plain, "grpcs": secure}


@on_free_ports
def nginx(authority, folder):
    path = program("nginx")
    crt, key = authority.cert([HOST])
    plain, secure = net.free_port(), net.free_port()
    temp = "".join(f"{k}_temp_path {folder}/{k};\n" for k in
                   ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "www").mkdir()
    (folder / "www" / "big").write_bytes(b"x" * 1000000)
    (folder / "nginx.conf").write_text(f"""
user root; daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{ }}
http {{
  access_log off; {temp}
  server {{
    listen 127.0.0.1:{plain}; root {folder}/www; server_name {HOST};
    location = /ok {{ return 200 "fine"; }}
    location = /gone {{ return 410; }}
    location = /moved {{ return 301 https://{HOST}:{secure}/ok; }}
  }}
  server {{
    listen 127.0.0.1:{secure} ssl; server_name {HOST};
    ssl_certificate {crt}; ssl_certificate_key {key};
    location = /ok {{ return 200 "fine"; }}
  }}
}}""")
    with running([path, "-p", folder, "-c", folder / "nginx.conf"],
                 lambda: listens(secure), folder / "log"):
        yield {"http": plain, "https": secure}
