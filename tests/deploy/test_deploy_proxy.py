"""deploy/proxy.conf in a real nginx: nobody gets to the UI without a login, from another site, or without
TLS.
"""

from __future__ import annotations

import base64
import http.client
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from compose_file import DEPLOY, services

NGINX = shutil.which("nginx") or ("/usr/sbin/nginx" if Path("/usr/sbin/nginx").exists() else None)
pytestmark = pytest.mark.skipif(
    NGINX is None and not os.environ.get("CI"), reason="needs nginx, and it was not found"
)

MAIN = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
{user}
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  include {folder}/proxy.conf;
}}
"""


@dataclass
class Proxy:
    """A running proxy, and what the service behind it was asked."""

    port: int
    received: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def ask(
        self,
        path: str = "/graphql",
        *,
        method: str = "GET",
        user: str | None = "alice:open sesame",
        **headers: str,
    ) -> int:
        """The status of a request; `Origin` and other headers as keywords, '_' for '-'."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if user is not None:
            given["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=60, context=ssl._create_unverified_context()
        )
        try:
            connection.request(method, path, headers=given)
            return connection.getresponse().status
        finally:
            connection.close()


@contextmanager
def behind(received: list[tuple[str, dict[str, str]]]) -> Iterator[int]:
    """In place of the webserver: answers everything and notes it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            received.append((self.path, dict(self.headers)))
            upgrade = self.headers.get("Upgrade") == "websocket"
            self.send_response(101 if upgrade else 200)
            if upgrade:
                self.send_header("Upgrade", "websocket")
                self.send_header("Connection", "upgrade")
            else:
                self.send_header("Content-Length", "0")
            self.end_headers()
            self.close_connection = upgrade

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def write_secrets(folder: Path) -> None:
    """As deploy/README.md says, in the same commands."""
    password = subprocess.run(
        ["openssl", "passwd", "-6", "open sesame"], capture_output=True, text=True, check=True, timeout=60
    )
    (folder / "proxy_users").write_text(f"alice:{password.stdout}")
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "1",
                "-subj",
                "/CN=localhost",
            ),
            *("-keyout", str(folder / "tls_key"), "-out", str(folder / "tls_certificate")),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    assert NGINX is not None, "nginx is missing"
    folder = tmp_path_factory.mktemp("proxy")
    write_secrets(folder)
    running = Proxy(free_port())
    with behind(running.received) as webserver:
        text = (DEPLOY / "proxy.conf").read_text(encoding="utf-8")
        text = text.replace("/run/secrets", str(folder)).replace("webserver:3000", f"127.0.0.1:{webserver}")
        (folder / "proxy.conf").write_text(text.replace("listen 8443", f"listen 127.0.0.1:{running.port}"))
        (folder / "nginx.conf").write_text(
            MAIN.format(folder=folder, user="user root;" if os.geteuid() == 0 else "")
        )
        command = [
            NGINX,
            "-p",
            str(folder),
            "-c",
            str(folder / "nginx.conf"),
            "-e",
            str(folder / "error.log"),
        ]
        checked = subprocess.run([*command, "-t"], capture_output=True, text=True, timeout=60, check=False)
        assert checked.returncode == 0, checked.stderr
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            wait_until_it_listens(running.port, process)
            yield running
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)


def wait_until_it_listens(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, "nginx has ended"
        with socket.socket() as probe:
            probe.settimeout(0.1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        threading.Event().wait(0.1)
    raise AssertionError("nginx does not listen")


def test_without_a_login_nothing_reaches_the_ui(proxy: Proxy) -> None:
    before = len(proxy.received)
    assert proxy.ask(user=None) == 401
    assert proxy.ask(user="alice:wrong") == 401
    assert proxy.ask(user="bob:open sesame") == 401
    assert proxy.ask("/server_info", user=None) == 401
    assert proxy.ask("/graphql", method="POST", user=None) == 401
    assert len(proxy.received) == before


def test_a_login_opens_the_ui_and_goes_no_further(proxy: Proxy) -> None:
    assert proxy.ask("/runs") == 200
    path, headers = proxy.received[-1]
    assert path == "/runs"
    assert headers["Host"] == f"127.0.0.1:{proxy.port}"
    assert "Authorization" not in headers


def test_a_request_that_another_site_makes_is_refused_in_spite_of_the_login(proxy: Proxy) -> None:
    before = len(proxy.received)
    for origin in (
        "https://evil.example",
        "null",
        f"http://127.0.0.1:{proxy.port}",
        f"https://127.0.0.1:{proxy.port}.evil.example",
    ):
        assert proxy.ask(method="POST", Origin=origin) == 403, origin
    assert len(proxy.received) == before
    assert proxy.ask(method="POST", Origin=f"https://127.0.0.1:{proxy.port}") == 200


def test_live_updates_get_through(proxy: Proxy) -> None:
    assert proxy.ask(Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Protocol="graphql-ws") == 101
    _, headers = proxy.received[-1]
    assert (headers["Upgrade"], headers["Connection"], headers["Sec-WebSocket-Protocol"]) == (
        "websocket",
        "upgrade",
        "graphql-ws",
    )


def test_nothing_is_served_without_tls(proxy: Proxy) -> None:
    before = len(proxy.received)
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
    connection.request("GET", "/runs")
    assert connection.getresponse().status == 400
    connection.close()
    assert len(proxy.received) == before


def test_the_health_check_of_the_service_needs_no_login_and_tells_nothing(proxy: Proxy) -> None:
    before = len(proxy.received)
    checked = services()["proxy"]["healthcheck"]["test"][-1]
    assert checked.endswith("/healthz")
    assert proxy.ask("/healthz", user=None) == 200
    assert len(proxy.received) == before
