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
BROWSER = {"Origin": OWN}


async def _answer(request: Request) -> PlainTextResponse:
    return PlainTextResponse("let in")


async def _socket(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("let in")
    await socket.close()


def client(
    token: str = TOKEN, host: str = "127.0.0.1", hosts: str = "", base: str = OWN
) -> TestClient:
    access = access_rules(host, {TOKEN_VARIABLE: token, HOSTS_VARIABLE: hosts})
    routes = [
        Route(
            "/{path:path}",
            _answer,
            methods=["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE"],
        ),
        WebSocketRoute("/{path:path}", _socket),
    ]
    return TestClient(
        Starlette(routes=routes, middleware=access),
        base_url=base,
        follow_redirects=False,
    )


def entered(**options: str) -> TestClient:
    """A browser at the printed address."""
    return client(base=f"{OWN}/{TOKEN}", **options)


def test_the_token_is_the_first_part_of_every_path_and_no_cookie() -> None:
    """A browser would send a cookie to the servers of other accounts on other ports
    too.
    """
    for path in ("/", "/runs?view=all", "/graphql"):
        assert client().get(path).status_code == 401
        answer = entered().get(path)
        assert answer.text == "let in"
        assert "set-cookie" not in answer.headers
    assert entered().post("/graphql", headers=BROWSER).text == "let in"


@pytest.mark.parametrize(
    "path", ["/guess/", "/guess", f"/{TOKEN}x/", f"/x/{TOKEN}/", f"/?token={TOKEN}"]
)
def test_a_wrong_token_opens_nothing(path: str) -> None:
    assert client().get(path).status_code == 401
    assert (
        client().get(path, headers={"Authorization": f"Bearer {TOKEN}"}).status_code
        == 401
    )


def test_no_page_shows_the_ui_in_a_frame_or_learns_its_address() -> None:
    for answer in (entered().get("/runs"), client().get("/")):
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:3000", ""])
def test_a_foreign_host_is_refused_also_with_the_token(host: str) -> None:
    """DNS rebinding: the page's own name now leads to this machine."""
    assert entered().get("/graphql", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize(
    "query", ["mutation{}", "query{version}", "", "%6dutation%7b%7d"]
)
def test_nothing_is_asked_of_graphql_by_get(query: str) -> None:
    assert entered().get(f"/graphql?query={query}").status_code == 405
    assert entered().get("/graphql").text == "let in"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:8080"},
        {"Origin": ""},
    ],
)
@pytest.mark.parametrize("token", [TOKEN, ""])
def test_a_change_is_refused_unless_it_comes_from_the_own_page(
    token: str, headers: dict[str, str]
) -> None:
    browser = entered() if token else client(token="")
    for method in ("POST", "PUT", "DELETE"):
        asked = browser.request(method, "/graphql", headers=headers, content="{}")
        assert asked.status_code == 403


def test_a_program_at_the_printed_address_needs_no_origin() -> None:
    assert entered().post("/graphql").text == "let in"


def test_a_web_socket_needs_the_own_origin_and_the_token() -> None:
    own_headers = {"Origin": OWN, "Host": "127.0.0.1:3000"}
    address = f"/{TOKEN}/graphql"
    with client().websocket_connect(address, headers=own_headers) as socket:
        assert socket.receive_text() == "let in"
    for path, wrong in (
        (address, {"Origin": "http://evil.example"}),
        (address, {"Origin": ""}),
        (address, {"Host": "evil.example"}),
        ("/graphql", {}),
    ):
        with (
            pytest.raises(WebSocketDisconnect),
            client().websocket_connect(path, headers={**own_headers, **wrong}),
        ):
            pass


def test_behind_a_proxy_the_public_name_is_answered_and_no_other() -> None:
    browser = client(
        token="",
        host="0.0.0.0",
        hosts="lunguage.example",
        base="https://lunguage.example",
    )
    assert browser.get("/").text == "let in"
    public_headers = {"Origin": "https://lunguage.example"}
    assert browser.post("/graphql", headers=public_headers).text == "let in"
    assert (
        browser.post("/graphql", headers={"Origin": "https://evil.example"}).status_code
        == 403
    )
    assert browser.get("/", headers={"Host": "evil.example"}).status_code == 400


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "server.example"])
def test_an_address_that_others_reach_needs_a_token_or_a_proxy(host: str) -> None:
    with pytest.raises(ConfigurationError, match="--host"):
        access_rules(host, {})
    assert access_rules(host, {TOKEN_VARIABLE: TOKEN})
    assert access_rules(host, {HOSTS_VARIABLE: "lunguage.example"})


def test_a_taken_port_is_one_line_and_makes_nothing(
    tmp_path: Path,
) -> None:
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
