"""A real nginx and a real pgbouncer in front of a server and a database, for tests and benchmarks."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.study.postgres import Server, _die_with_parent, free_port

NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{port};
{location}
  }}
}}
"""
PGBOUNCER = """
[databases]
* = host=127.0.0.1 port={postgres}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
server_check_delay = 0
server_login_retry = 1
"""


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server takes connections."""
    end = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert process.poll() is None, "it ended"
            assert time.monotonic() < end
            time.sleep(0.05)


@contextmanager
def nginx(location: str) -> Iterator[str]:
    """Run nginx with the locations of a server; yields its address."""
    with tempfile.TemporaryDirectory(prefix="surepath-nginx-") as name:
        folder, port = Path(name), free_port()
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, location=location))
        command = [shutil.which("nginx") or "/usr/sbin/nginx", "-p", name, "-c", str(folder / "nginx.conf")]
        errors = (folder / "error.log").open("ab")
        process = subprocess.Popen([*command, "-e", "stderr"], stderr=errors, preexec_fn=_die_with_parent)
        try:
            wait_for(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()
            errors.close()


@contextmanager
def pgbouncer(server: Server, database: str) -> Iterator[str]:
    """Run pgbouncer in transaction mode before a database of a server; yields the database's address there."""
    with tempfile.TemporaryDirectory(prefix="surepath-pgbouncer-") as name:
        folder, port = Path(name), free_port()
        (folder / "pgbouncer.ini").write_text(PGBOUNCER.format(folder=folder, port=port, postgres=server.port))
        text = (folder / "pgbouncer.ini").read_text().replace("* = host", f"{database} = user=surepath host")
        (folder / "pgbouncer.ini").write_text(text)
        (folder / "users").write_text('"surepath" ""\n')
        user = "postgres" if os.getuid() == 0 else None  # it refuses to run as root
        if user is not None:
            for file in (folder, *folder.iterdir()):
                os.chown(file, pwd.getpwnam(user).pw_uid, -1)
        process = subprocess.Popen(
            [shutil.which("pgbouncer") or "/usr/sbin/pgbouncer", "-q", str(folder / "pgbouncer.ini")],
            user=user,
            stderr=(folder / "log").open("wb"),
            preexec_fn=_die_with_parent,
        )
        try:
            wait_for(port, process)
            yield f"postgresql://surepath@127.0.0.1:{port}/{database}"
        finally:
            process.kill()
            process.wait()
