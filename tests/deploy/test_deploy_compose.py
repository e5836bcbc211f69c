"""deploy/compose.yaml holds together: what it uses exists, what it says is documented, and every command is
one that the package has.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
from pathlib import Path
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

SERVICES = sorted(services())
OWN = sorted(of_the_package())
LONG_RUNNING = [name for name in SERVICES if name != "tools"]


def test_every_variable_is_documented_and_every_documented_variable_is_used() -> None:
    assert used_variables() == set(example_variables())


def test_the_folder_of_the_home_must_be_named() -> None:
    with pytest.raises(ValueError, match="folder of the home"):
        compose({})


@pytest.mark.parametrize("kind", ["secrets", "networks", "volumes"])
def test_what_services_use_is_defined_and_what_is_defined_is_used(kind: str) -> None:
    used = {entry.partition(":")[0] for service in services().values() for entry in service.get(kind, [])}
    named = {entry for entry in used if not entry.startswith((".", "/"))}
    assert named == set(compose()[kind])


def test_services_wait_only_for_services_whose_health_is_checked() -> None:
    for service in services().values():
        for other in service.get("depends_on", {}):
            assert "healthcheck" in services()[other]


@pytest.mark.parametrize("name", SERVICES)
def test_every_image_has_a_version_of_its_own(name: str) -> None:
    _, _, version = services()[name]["image"].rpartition(":")
    assert re.match(r"\d+\.\d+", version), "neither latest nor a whole series"


@pytest.mark.parametrize("name", LONG_RUNNING)
def test_every_service_starts_again_and_is_watched(name: str) -> None:
    assert services()[name]["restart"] == "unless-stopped"
    assert "healthcheck" in services()[name]


@pytest.mark.parametrize("name", OWN)
def test_services_of_the_package_can_write_only_to_the_home_and_gain_no_rights(name: str) -> None:
    service = services()[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    writable = {entry.split(":")[1] for entry in service["volumes"] if not entry.endswith(":ro")}
    assert writable - {"/srv/lunguage/backups"} == {"/srv/lunguage/home"}


def test_only_the_proxy_can_be_reached_and_only_from_this_machine() -> None:
    assert [name for name in SERVICES if "ports" in services()[name]] == ["proxy"]
    assert services()["proxy"]["ports"] == ["127.0.0.1:8443:8443"]
    assert not set(services()["webserver"]["networks"]) - {"data", "front"}
    assert all(compose()["networks"][name]["internal"] for name in ("data", "front"))


def test_mounted_files_are_in_the_repository() -> None:
    mounted = [
        entry.split(":")[0]
        for service in services().values()
        for entry in service.get("volumes", [])
        if entry.startswith("./")
    ]
    missing = [path for path in mounted if not (DEPLOY / path).exists()]
    assert missing == []


def test_the_files_of_secrets_can_get_into_neither_repository_nor_image() -> None:
    ignored = {line.rstrip("/") for line in (DEPLOY / ".gitignore").read_text(encoding="utf-8").splitlines()}
    for path in [*(secret["file"] for secret in compose()["secrets"].values()), ".env", "backups/2026"]:
        assert Path(path).parts[0] in ignored, path
    allowed = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert allowed[1] == "*", "nothing is sent that is not named"
    assert not any("secret" in line or ".env" in line for line in allowed if line.startswith("!"))


def test_no_value_of_a_secret_is_written_anywhere() -> None:
    for name, service in services().items():
        for variable, value in service.get("environment", {}).items():
            assert variable.endswith("_FILE") or not re.search("PASSWORD|SECRET|KEY|TOKEN", variable), (
                f"{name}: {variable}"
            )
            assert not re.search(r"://[^/@]*:[^/@]+@", str(value)), (
                f"{name}: {variable} has a password in its URL"
            )


def test_every_process_that_serves_a_home_keeps_no_message_that_may_quote_a_report() -> None:
    for service in of_the_package().values():
        assert service["environment"][REDACTION_VARIABLE] == "true"
    for unit in (DEPLOY / "systemd").glob("*.service"):
        assert f"Environment={REDACTION_VARIABLE}=true" in unit.read_text().splitlines(), unit.name


def test_as_many_runs_at_once_as_there_are_workers() -> None:
    command = services()["worker"]["command"]
    processes = int(command[command.index("--concurrency") + 1])
    settings = yaml.safe_load((DEPLOY / "dagster.yaml").read_text(encoding="utf-8"))
    assert (
        int(services()["worker"]["scale"]) * processes
        == settings["concurrency"]["runs"]["max_concurrent_runs"]
    )


def test_pools_are_those_of_the_embedded_instance() -> None:
    scaled, embedded = (
        yaml.safe_load((folder / "dagster.yaml").read_text(encoding="utf-8"))
        for folder in (DEPLOY, REPOSITORY)
    )
    assert scaled["concurrency"]["pools"] == embedded["concurrency"]["pools"]
    assert scaled["telemetry"] == embedded["telemetry"] == {"enabled": False}


def parsed(command: list[str]) -> Any:
    """Have a command's own parser read its options, without running it."""
    pytest.importorskip("dagster_celery", reason="needs the extra 'scale'")
    entry_points = {
        "dagster": "dagster._cli:create_dagster_cli",
        "dagster-webserver": "dagster_webserver.cli:dagster_webserver",
        "dagster-daemon": "dagster._daemon.cli:create_dagster_daemon_cli",
        "celery": "celery.bin.celery:celery",
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


@pytest.mark.parametrize("name", [name for name in OWN if name not in ("worker", "tools")])
def test_the_command_of_a_service_is_one_that_its_program_understands(name: str) -> None:
    context = parsed(services()[name]["command"])
    assert context.command.name in ("start", "dagster-webserver", "run")


def test_commands_for_the_tools_in_the_documentation_can_be_understood(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("click.Path.convert", lambda _, value, *__: value)  # the folders are the container's
    text = (DEPLOY / "README.md").read_text(encoding="utf-8")
    commands = [
        shlex.split(found, comments=True)
        for found in re.findall(r"docker compose run --rm (?:-e \S+ )?tools ([^`\n]+)", text)
    ]
    of_programs = [command for command in commands if not command[0].endswith(".sh")]
    assert len(of_programs) >= 3
    assert {parsed(command).command.name for command in of_programs} == {
        "doctor",
        "register",
        "set",
        "migrate",
    }
    scripts = {command[0] for command in commands} - {command[0] for command in of_programs}
    assert {Path(script).name for script in scripts} == {"backup.sh", "restore.sh"}


def test_entrypoint_turns_secrets_into_variables_of_its_process(tmp_path: Path) -> None:
    (tmp_path / "services_env").write_text(
        "# judges\nOPENAI_API_KEY=a b$(c)'d\n\nAWS_DEFAULT_REGION=eu-west-1"
    )
    (tmp_path / "postgres_password").write_text("p w\n")
    (tmp_path / "redis_password").write_text("0a1b")
    given = {
        "LUNGUAGE_BROKER": "redis://redis:6379/0",
        "AWS_ENDPOINT_URL_S3": "",
        "LUNGUAGE_PRESET": "",
        "LUNGUAGE_STRUCTURER": "",
        "LUNGUAGE_TABLES": "s3://b/t",
    }
    done = entrypoint(tmp_path, given, "env")
    variables = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert variables["OPENAI_API_KEY"] == "a b$(c)'d"
    assert variables["PGPASSWORD"] == "p w"
    assert variables["LUNGUAGE_BROKER"] == "redis://:0a1b@redis:6379/0"
    assert variables["AWS_DEFAULT_REGION"] == "eu-west-1"
    assert variables["LUNGUAGE_TABLES"] == "s3://b/t"
    assert not {"AWS_ENDPOINT_URL_S3", "LUNGUAGE_PRESET", "LUNGUAGE_STRUCTURER"} & set(variables), (
        "set to nothing is not set"
    )


@pytest.mark.parametrize(
    "line", ["sk-secret-value", "lower=sk-secret-value", "1X=sk-secret-value", "A B=sk-secret-value"]
)
def test_entrypoint_refuses_what_is_no_variable_and_does_not_repeat_it(tmp_path: Path, line: str) -> None:
    (tmp_path / "services_env").write_text(f"GOOD=1\n{line}\n")
    done = entrypoint(tmp_path, {}, "env")
    assert done.returncode != 0
    assert "line 2" in done.stderr
    assert "sk-secret-value" not in done.stdout + done.stderr


def entrypoint(secrets: Path, given: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "LUNGUAGE_SECRETS": str(secrets), **given}
    return subprocess.run(
        [str(DEPLOY / "entrypoint.sh"), *command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("name", ["entrypoint.sh", "backup.sh", "restore.sh"])
def test_scripts_are_executable_and_parse(name: str) -> None:
    assert os.access(DEPLOY / name, os.X_OK)
    subprocess.run(["sh", "-n", str(DEPLOY / name)], check=True, timeout=60)


def instructions() -> list[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    return [
        (line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()
    ]


def test_the_dockerfile_knows_only_instructions_that_exist_and_ends_without_root() -> None:
    names = [name for name, _ in instructions()]
    assert set(names) <= {"FROM", "ARG", "WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT", "CMD"}
    arguments = [value.partition("=")[0] for name, value in instructions() if name == "ARG"]
    assert arguments == ["VERSION"], "another ARG would keep a secret in the image"
    users = [value for name, value in instructions() if name == "USER"]
    assert users == ["10001:10001"]
    assert all(re.search(r":\d+\.\d+\.\d+-", value) for name, value in instructions() if name == "FROM")


def test_everything_the_dockerfile_copies_exists_and_is_sent_to_the_engine() -> None:
    allowed = {
        line[1:]
        for line in (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    }
    sources = {
        source
        for name, value in instructions()
        if name == "COPY" and not value.startswith("--from")
        for source in shlex.split(value)[:-1]
    }
    assert sources == allowed
    assert [source for source in sources if not (REPOSITORY / source).exists()] == []


def test_the_image_installs_only_what_is_locked_by_hash() -> None:
    installs = [value for name, value in instructions() if name == "RUN" and "pip install" in value]
    assert all(
        "--require-hashes" in value or "--no-deps --no-build-isolation ." in value for value in installs
    )
    lock = (REPOSITORY / "requirements-scale.lock").read_text(encoding="utf-8")
    pins = re.findall(
        r"^[a-z0-9][^\n]*==[^\n]*\\\n(?=    --hash=sha256:[0-9a-f]{64})", lock, flags=re.MULTILINE
    )
    assert len(pins) == len(re.findall(r"^[a-z0-9].*==", lock, flags=re.MULTILINE)) > 100
    assert "://" not in lock, "the lock names no index host"
    for package in ("dagster-postgres", "dagster-celery", "redis", "s3fs", "openai", "hatchling"):
        assert re.search(rf"^{package}==", lock, flags=re.MULTILINE), package


def test_paths_that_services_use_inside_the_image_are_made_by_the_dockerfile() -> None:
    made = set()
    for name, value in instructions():
        if name == "COPY" and value.rstrip().split()[-1].startswith("/opt/lunguage"):
            *sources, target = [word for word in shlex.split(value) if not word.startswith("--")]
            made |= {target + Path(source).name if target.endswith("/") else target for source in sources}
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    used = set(re.findall(r"/opt/lunguage/[\w./-]+", text))
    assert used <= made
