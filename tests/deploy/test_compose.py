"""deploy/ holds together: what it uses exists, what it says is documented, and every
command is one that the package has.
"""

from __future__ import annotations

import re

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

from lunguage_assets.errors import REDACTION_VARIABLE

DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
SENT = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()


def test_every_variable_is_documented_and_every_documented_variable_is_used() -> None:
    assert used_variables() == set(example_variables())


def test_databases_are_internal_and_the_ui_is_local_with_a_token() -> None:
    all_of = services()
    ports = {name: all_of[name]["ports"] for name in all_of if "ports" in all_of[name]}
    assert ports == {"webserver": ["127.0.0.1:3000:3000"]}
    assert all_of["webserver"]["environment"]["LUNGUAGE_UI_TOKEN"]
    assert compose()["networks"]["data"] == {"internal": True}
    internal = {name for name in all_of if all_of[name]["networks"] == ["data"]}
    assert internal == {"postgres", "redis", "daemon"}


def test_keys_of_judges_reach_only_the_services_that_ask_them() -> None:
    with_keys = {name for name, service in services().items() if "env_file" in service}
    assert with_keys == {"code", "worker", "tools"}
    ignored = (DEPLOY / ".gitignore").read_text(encoding="utf-8").split()
    assert ignored == [".env", "options.env"]
    assert SENT[1] == "*", "nothing is sent that is not named"
    assert not any(".env" in line for line in SENT if line.startswith("!"))


def test_every_service_redacts_messages_and_gains_no_rights() -> None:
    for service in of_the_package().values():
        assert service["environment"][REDACTION_VARIABLE] == "true"
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    assert re.findall(r"^USER (.*)", DOCKERFILE, re.MULTILINE) == ["10001:10001"]


def test_runs_and_pools_are_as_many_as_the_workers() -> None:
    scaled, embedded = (
        yaml.safe_load((folder / "dagster.yaml").read_text(encoding="utf-8"))
        for folder in (DEPLOY, REPOSITORY)
    )
    workers = int(services()["worker"]["scale"])
    assert workers == scaled["concurrency"]["runs"]["max_concurrent_runs"]
    assert scaled["concurrency"]["pools"] == embedded["concurrency"]["pools"]
    assert scaled["telemetry"] == embedded["telemetry"] == {"enabled": False}


def test_everything_the_dockerfile_copies_exists_and_is_sent_to_the_engine() -> None:
    copying = r"^COPY (?!--from)(?:--chown=\S+ )?(.+) \S+$"
    copied = re.findall(copying, DOCKERFILE, re.MULTILINE)
    sources = {source for line in copied for source in line.split()}
    assert sources == {line[1:] for line in SENT if line.startswith("!")}
    assert [source for source in sources if not (REPOSITORY / source).exists()] == []
