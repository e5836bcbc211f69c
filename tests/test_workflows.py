"""The workflows run what the repository has: its own commands, its Pythons, its files."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def steps_of(path: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job.get("steps", ())]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_step_is_an_action_of_a_stated_version_or_a_command_that_exists(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for step in steps_of(path):
        if "uses" in step:
            assert re.fullmatch(r"[\w.-]+/[\w./-]+@[\w./-]+", step["uses"])
        for command in step.get("run", "").splitlines():
            words = command.split()
            if words[:1] == ["make"]:
                assert set(words[1:]) <= targets
            if words[:1] and words[0].startswith(("./", ".ci/", "deploy/")):
                assert (ROOT / words[0]).is_file()
        if "file" in step.get("with", {}):
            assert (ROOT / step["with"]["file"]).is_file()


def test_the_lock_files_are_audited_every_week_and_by_no_dependency() -> None:
    audit = yaml.safe_load((ROOT / ".github/workflows/audit.yml").read_text(encoding="utf-8"))
    assert audit[True]["schedule"]  # YAML reads `on` as a truth value
    assert {"run": "make audit"} in audit["jobs"]["audit"]["steps"]
    asked = subprocess.run(
        ["make", "-n", "audit", "AUDIT=audits"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "requirements*.lock" in asked.stdout
    assert "audits --disable-pip" in asked.stdout
    assert "pip-audit" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_no_workflow_may_write_to_the_repository() -> None:
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        jobs = workflow["jobs"].values()
        assert workflow["permissions"] == {"contents": "read"}
        assert all(job.get("permissions", {}).get("contents", "read") == "read" for job in jobs)


def test_the_pythons_that_are_tested_are_those_that_the_package_names() -> None:
    tests = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    tested = tests["jobs"]["test"]["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    assert tested == [line.rpartition(" ")[2] for line in project["classifiers"] if line.startswith(prefix)]
    assert project["requires-python"] == f">={tested[0]}"
