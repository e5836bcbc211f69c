"""The workflows run what the repository has: its own commands, its Pythons, its files."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_lock_files_are_audited_every_week_and_by_no_dependency() -> None:
    audit = yaml.safe_load((ROOT / ".github/workflows/audit.yml").read_text(encoding="utf-8"))
    assert audit[True]["schedule"]  # YAML reads `on` as a truth value
    assert {"run": "make audit"} in audit["jobs"]["audit"]["steps"]


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
