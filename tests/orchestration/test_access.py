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
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.instance import LOCATION
from lunguage_assets.orchestration.ui.access import (
    HOSTS_VARIABLE,
    TOKEN_VARIABLE,
    access_rules,
)
from lunguage_assets.orchestration.ui.processes import only_ui, workspace_file

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


def client(
    token: str = TOKEN, host: str = "127.0.0.1", hosts: str = "", base: str = OWN
) -> TestClient:
    access = access_rules(host, {TOKEN_VARIABLE: token, HOSTS_VARIABLE: hosts})
    server = Starlette(routes=ROUTES, middleware=access)
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
    assert entered().post("/graphql", headers={"Origin": OWN}).text == "let in"
    # A program at the printed address needs no origin.
    assert entered().post("/graphql").text == "let in"


def test_no_page_shows_the_ui_in_a_frame_or_learns_its_address() -> None:
    for answer in (entered().get("/runs"), client().get("/")):
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "same-origin"


INSIDE = f"/{TOKEN}/graphql"
ATTACKS = [
    # A wrong token opens nothing.
    *(("GET", path, {}, 401) for path in ("/guess/", "/guess", f"/{TOKEN}x/", f"/x/{TOKEN}/")),
    ("GET", f"/?token={TOKEN}", {}, 401),
    ("GET", "/graphql", {"Authorization": f"Bearer {TOKEN}"}, 401),
    # DNS rebinding: the name of the attacker's page now leads to this machine.
    *(("GET", INSIDE, {"Host": host}, 400) for host in ("evil.example", "evil.example:3000", "")),
    # Nothing is asked of GraphQL by GET.
    *(("GET", f"{INSIDE}?query={query}", {}, 405)
      for query in ("mutation{}", "query{version}", "", "%6dutation%7b%7d")),
    # A change comes from the own page.
    *((method, INSIDE, {"Origin": origin}, 403)
      for origin in ("http://evil.example", "null", "http://127.0.0.1:8080", "")
      for method in ("POST", "PUT", "DELETE")),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "headers", "status"), ATTACKS)
def test_an_attack_is_refused(
    method: str, path: str, headers: dict[str, str], status: int
) -> None:
    asked = client().request(method, path, headers=headers)
    assert asked.status_code == status


def test_without_a_token_too_a_change_comes_from_the_own_page() -> None:
    foreign = {"Origin": "http://evil.example"}
    assert client(token="").post("/graphql", headers=foreign).status_code == 403
    assert client(token="").get("/graphql").text == "let in"


def test_a_web_socket_needs_the_own_origin_and_the_token() -> None:
    own_headers = {"Origin": OWN, "Host": "127.0.0.1:3000"}
    with client().websocket_connect(INSIDE, headers=own_headers) as socket:
        assert socket.receive_text() == "let in"
    for path, wrong in (
        (INSIDE, {"Origin": "http://evil.example"}),
        (INSIDE, {"Origin": ""}),
        (INSIDE, {"Host": "evil.example"}),
        ("/graphql", {}),
    ):
        with (
            pytest.raises(WebSocketDisconnect),
            client().websocket_connect(path, headers={**own_headers, **wrong}),
        ):
            pass


def test_behind_a_proxy_the_public_name_is_answered_and_no_other() -> None:
    public = "https://lunguage.example"
    browser = client(token="", host="0.0.0.0", hosts="lunguage.example", base=public)
    assert browser.get("/").text == "let in"
    assert browser.post("/graphql", headers={"Origin": public}).text == "let in"
    foreign = {"Origin": "https://evil.example"}
    assert browser.post("/graphql", headers=foreign).status_code == 403
    assert browser.get("/", headers={"Host": "evil.example"}).status_code == 400


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "server.example"])
def test_an_address_that_others_reach_needs_a_token_or_a_proxy(host: str) -> None:
    with pytest.raises(ConfigurationError, match="--host"):
        access_rules(host, {})
    assert access_rules(host, {TOKEN_VARIABLE: TOKEN})
    assert access_rules(host, {HOSTS_VARIABLE: "lunguage.example"})


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


def test_a_second_ui_says_where_the_first_is_open(tmp_path: Path) -> None:
    with only_ui(tmp_path / "home", "http://127.0.0.1:3000/ of process 7"):
        done = lunguage(tmp_path / "home", "ui", "--port", "3999")
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert "is open already, at http://127.0.0.1:3000/ of process 7" in line
    with only_ui(tmp_path / "home", "elsewhere"):
        assert (tmp_path / "home" / ".ui.lock").read_text() == "elsewhere"


def test_the_code_location_has_the_same_name_wherever_it_is_served(
    tmp_path: Path,
) -> None:
    """Runs, switches of sensors and re-executions are known by it."""
    served = workspace_file(tmp_path, str(tmp_path / "code"))
    for file in (served, ROOT / "deploy" / "workspace.yaml"):
        (location,) = yaml.safe_load(file.read_text())["load_from"]
        assert location["grpc_server"]["location_name"] == LOCATION
    (location,) = yaml.safe_load((ROOT / "workspace.yaml").read_text())["load_from"]
    assert location["python_module"] == LOCATION
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dg"][
        "project"
    ]
    assert project["code_location_name"] == LOCATION
