"""Who may ask the UI: the requests of an attack, one by one, before a server that
answers everything; and what `lunguage ui` refuses before anything is started.
"""

from __future__ import annotations

import socket
import tomllib
from pathlib import Path

import pytest
import yaml
from commands import lunguage
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.instance import LOCATION
from lunguage_assets.ui.access import (
    TOKEN_VARIABLE,
    guarded,
    path_prefix,
)
from lunguage_assets.ui.processes import only_ui, workspace_file

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "t0ken-of-a-test"
OWN = "http://127.0.0.1:3000"


async def _answer(request: Request) -> PlainTextResponse:
    return PlainTextResponse("let in")


async def _socket(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("let in")
    await socket.close()


METHODS = ["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE"]
ROUTES = [
    Route("/{path:path}", _answer, methods=METHODS),
    WebSocketRoute("/{path:path}", _socket),
]


def client(base: str = OWN) -> TestClient:
    access = Middleware(guarded, prefix=path_prefix({TOKEN_VARIABLE: TOKEN}))
    server = Starlette(routes=ROUTES, middleware=[access])
    return TestClient(server, base_url=base, follow_redirects=False)


def entered() -> TestClient:
    """A browser at the printed address."""
    return client(base=f"{OWN}/{TOKEN}")


def test_the_token_is_the_first_part_of_every_path_and_no_cookie() -> None:
    """A browser would send a cookie to the servers of other accounts on other ports
    too.
    """
    for path in ("/", "/runs?view=all", "/graphql"):
        assert client().get(path).status_code == 401
        answer = entered().get(path)
        assert answer.text == "let in"
        assert "set-cookie" not in answer.headers
    assert entered().post("/graphql").text == "let in"


def test_no_page_shows_the_ui_in_a_frame_or_learns_its_address() -> None:
    for answer in (entered().get("/runs"), client().get("/")):
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "same-origin"


ATTACKS = [
    *(("GET", path, {}) for path in ("/guess/", "/guess", f"/{TOKEN}x/", f"/x/{TOKEN}/")),
    ("GET", f"/?token={TOKEN}", {}),
    ("GET", "/graphql", {"Authorization": f"Bearer {TOKEN}"}),
    ("GET", "/graphql", {"Cookie": f"token={TOKEN}"}),
    # A page of another site, also at a name that now leads to this machine.
    *((method, "/graphql?query=mutation{}", {"Host": "evil.example"}) for method in METHODS),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "headers"), ATTACKS)
def test_an_attack_is_refused(method: str, path: str, headers: dict[str, str]) -> None:
    asked = client().request(method, path, headers=headers)
    assert asked.status_code == 401


def test_a_web_socket_needs_the_token() -> None:
    with client().websocket_connect(f"/{TOKEN}/graphql") as socket:
        assert socket.receive_text() == "let in"
    with (
        pytest.raises(WebSocketDisconnect),
        client().websocket_connect("/graphql"),
    ):
        pass


def test_the_webserver_asks_for_a_token() -> None:
    with pytest.raises(ConfigurationError, match=TOKEN_VARIABLE):
        path_prefix({})


def test_a_taken_port_is_one_line_and_makes_nothing(tmp_path: Path) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        done = lunguage(tmp_path / "home", "ui", "--port", str(port))
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert f"port {port} of 127.0.0.1 cannot be used" in line
    assert "--port" in line
    assert not (tmp_path / "home").exists()


def test_a_second_ui_is_refused(tmp_path: Path) -> None:
    with only_ui(tmp_path / "home"):
        done = lunguage(tmp_path / "home", "ui", "--port", "3999")
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert "is open already" in line


def test_the_code_location_has_the_same_name_wherever_it_is_served(
    tmp_path: Path,
) -> None:
    """Runs, switches of sensors and re-executions are known by it."""
    served = workspace_file(tmp_path / "code")
    for file in (served, ROOT / "deploy" / "workspace.yaml"):
        (location,) = yaml.safe_load(file.read_text())["load_from"]
        assert location["grpc_server"]["location_name"] == LOCATION
    (location,) = yaml.safe_load((ROOT / "workspace.yaml").read_text())["load_from"]
    assert location["python_module"] == LOCATION
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dg"][
        "project"
    ]
    assert project["code_location_name"] == LOCATION
