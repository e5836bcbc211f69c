"""Forms for issues are ones that GitHub takes; those that may show a report ask for an invented one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

FORMS = sorted((Path(__file__).resolve().parents[2] / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_a_form_has_what_github_asks_of_it(form: Path) -> None:
    written = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= set(written)
    ids = [part["id"] for part in written["body"] if part["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 1
    for part in written["body"]:
        assert part["type"] in {"markdown", "textarea", "input", "dropdown", "checkboxes"}
        assert part["attributes"].get("label") or part["type"] == "markdown"
        assert part["attributes"].get("value") or part["type"] != "markdown"


@pytest.mark.parametrize("form", ["bug", "reading"])
def test_a_form_that_may_show_a_report_asks_for_an_invented_one(form: str) -> None:
    (path,) = (path for path in FORMS if path.stem == form)
    (box,) = (p for p in yaml.safe_load(path.read_text("utf-8"))["body"] if p["type"] == "checkboxes")
    assert box["attributes"]["options"][0]["required"] is True
