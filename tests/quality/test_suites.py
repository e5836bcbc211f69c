"""The expectation suites: in step with the schemas, and able to fail."""

from __future__ import annotations

import json

import pytest

from lunguage_assets.data_files import expectation
from lunguage_assets.quality.dictionary import data_dictionary
from lunguage_assets.quality.suites import written_suite
from lunguage_assets.quality.validation import suite_results
from lunguage_assets.tables import ACCOUNTING, INTAKE_NOTES, TABLES


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda t: t.name)
def test_the_stored_suite_is_what_the_schema_derives_plus_rules_by_hand(table) -> None:
    stored = json.loads(expectation(f"{table.name}.json").read_text(encoding="utf-8"))
    assert stored == written_suite(table, stored), "run: python -m lunguage_assets.quality.suites"


def test_there_is_one_suite_per_table_and_no_other() -> None:
    assert sorted(p.stem for p in expectation().glob("*.json")) == sorted(TABLES)


def test_a_broken_rule_names_the_failing_rows_by_key() -> None:
    row = {c.name: True if c.type == "bool" else 0 for c in ACCOUNTING.columns}
    frame = ACCOUNTING.frame(
        [{**row, "study_id": "s00000001"}, {**row, "study_id": "s00000002", "balanced": False}]
    )
    failing = [result for result in suite_results(ACCOUNTING, frame, "expand") if not result.success]
    assert [(result.column, result.failing_rows, result.failing_keys) for result in failing] == [
        ("balanced", 1, ("s00000002",))
    ]


def test_results_carry_no_value_of_the_frame() -> None:
    marker = "a sentence that must not leave the table"
    note = {
        "number": 0,
        "file": "f",
        "line": 1,
        "study_id": "",
        "finding_id": "",
        "column": "",
        "reason": "r",
        "found": marker,
        "done": "",
    }
    failing = [
        result
        for result in suite_results(INTAKE_NOTES, INTAKE_NOTES.frame([note, note]), "ingest")
        if not result.success
    ]
    assert [(result.column, result.failing_keys) for result in failing] == [("number", ("0", "0"))]
    assert marker not in repr(failing)


def test_the_data_dictionary_has_every_column_of_every_stored_table() -> None:
    sections = {part.split("\n")[0]: part for part in data_dictionary().split("## ")}
    for name, table in TABLES.items():
        assert all(f"\n| `{column}` | " in sections[name] for column in table.names)
