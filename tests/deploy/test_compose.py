"""deploy/ holds together: what it uses exists, what it says is documented, and every command is one that the
package has.
"""

from __future__ import annotations

import importlib
import re
import shlex
from typing import Any

import pytest
import yaml
from compose_file import (
    DEPLOY,
    REPOSITORY,
    compose,
    example_variables,
    of_the_package,
    services,
    used_variables,
)

from lunguage_assets.orchestration.ui import webserver
from lunguage_assets.orchestration.withheld import REDACTION_VARIABLE

DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def test_every_variable_is_documented_and_every_documented_variable_is_used() -> None:
    assert used_variables() == set(example_variables())


def test_databases_are_reached_by_services_alone_and_the_ui_from_this_machine_with_a_token() -> None:
    reached = {name: service["ports"] for name, service in services().items() if "ports" in service}
    assert reached == {"webserver": ["127.0.0.1:3000:3000"]}
    assert services()["webserver"]["environment"]["LUNGUAGE_UI_TOKEN"]
    assert compose()["networks"]["data"] == {"internal": True}
    assert {name for name, service in services().items() if service["networks"] == ["data"]} == {
        "postgres",
        "redis",
        "daemon",
    }


def test_keys_of_judges_are_given_to_those_who_ask_them_and_can_get_into_neither_repository_nor_image() -> (
    None
):
    assert {name for name, service in services().items() if "env_file" in service} == {
        "code",
        "worker",
        "tools",
    }
    assert (DEPLOY / ".gitignore").read_text(encoding="utf-8").split() == [".env", "options.env"]
    allowed = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert allowed[1] == "*", "nothing is sent that is not named"
    assert not any(".env" in line for line in allowed if line.startswith("!"))


def test_every_service_of_the_package_keeps_no_message_that_may_quote_a_report_and_gains_no_rights() -> None:
    for service in of_the_package().values():
        assert service["environment"][REDACTION_VARIABLE] == "true"
        assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
    assert re.findall(r"^USER (.*)", DOCKERFILE, re.MULTILINE) == ["10001:10001"]


def test_runs_and_pools_are_as_many_as_the_workers_and_those_of_the_embedded_instance() -> None:
    scaled, embedded = (
        yaml.safe_load((folder / "dagster.yaml").read_text(encoding="utf-8"))
        for folder in (DEPLOY, REPOSITORY)
    )
    assert int(services()["worker"]["scale"]) == scaled["concurrency"]["runs"]["max_concurrent_runs"]
    assert scaled["concurrency"]["pools"] == embedded["concurrency"]["pools"]
    assert scaled["telemetry"] == embedded["telemetry"] == {"enabled": False}


def parsed(command: list[str]) -> Any:
    """Have a command's own parser read its options, without running it."""
    pytest.importorskip("dagster_celery", reason="needs the extra 'scale'")
    entry_points = {
        "dagster": "dagster._cli:create_dagster_cli",
        "dagster-webserver": "dagster_webserver.cli:dagster_webserver",
        "dagster-daemon": "dagster._daemon.cli:create_dagster_daemon_cli",
        "lunguage": "lunguage_assets.cli.main:commands",
    }
    if command[:2] == ["python", "-m"]:  # the guarded webserver takes the options of Dagster's
        assert command[2] == webserver.__name__
        command = ["dagster-webserver", *command[3:]]
    program, *arguments = (word.replace("/opt/lunguage/", f"{DEPLOY}/") for word in command)
    module, _, name = entry_points[program].partition(":")
    found = getattr(importlib.import_module(module), name)
    found = found() if name.startswith("create_") else found
    context = found.make_context(program, arguments)
    while getattr(context.command, "commands", None) is not None and context.protected_args + context.args:
        _, chosen, rest = context.command.resolve_command(context, context.protected_args + context.args)
        context = chosen.make_context(chosen.name, rest, parent=context)
    return context


@pytest.mark.parametrize("name", ["code", "webserver", "daemon"])
def test_the_command_of_a_service_is_one_that_its_program_understands(name: str) -> None:
    assert parsed(services()[name]["command"]).command.name in ("start", "dagster-webserver", "run")


def test_commands_for_the_tools_in_the_documentation_can_be_understood(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("click.Path.convert", lambda _, value, *__: value)  # the folders are the container's
    text = (DEPLOY / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"docker compose run --rm tools ([^`\n]+)", text)
    named = {parsed(shlex.split(command, comments=True)).command.name for command in commands}
    assert named == {"doctor", "register", "set", "migrate"}


def test_everything_the_dockerfile_copies_exists_and_is_sent_to_the_engine() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    copied = re.findall(r"^COPY (?!--from)(?:--chown=\S+ )?(.+) \S+$", DOCKERFILE, re.MULTILINE)
    sources = {source for line in copied for source in line.split()}
    assert sources == {line[1:] for line in ignored if line.startswith("!")}
    assert [source for source in sources if not (REPOSITORY / source).exists()] == []
