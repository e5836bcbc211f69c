"""Forms for issues that may show a report ask for an invented one; workflows can be
read.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

FORMS = Path(__file__).resolve().parents[2] / ".github" / "ISSUE_TEMPLATE"


@pytest.mark.parametrize("form", ["bug", "reading"])
def test_a_form_that_may_show_a_report_asks_for_an_invented_one(form: str) -> None:
    form_fields = yaml.safe_load((FORMS / f"{form}.yml").read_text("utf-8"))
    elements = form_fields["body"]
    (box,) = (element for element in elements if element["type"] == "checkboxes")
    assert box["attributes"]["options"][0]["required"] is True


@pytest.mark.parametrize(
    "workflow",
    sorted(FORMS.with_name("workflows").glob("*.yml")),
    ids=lambda workflow: workflow.stem,
)
def test_a_workflow_can_be_read_and_its_steps_do_something(workflow: Path) -> None:
    jobs = yaml.safe_load(workflow.read_text("utf-8"))["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    assert [step for step in steps if not (step.keys() & {"uses", "run"})] == []
