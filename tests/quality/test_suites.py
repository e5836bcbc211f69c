"""Every expectation in `expectations/` can fail and says what to do; none of them shows
a value.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from stored_tables import plain_row

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.packaged_data import expectation, read_as
from lunguage_assets.quality.suites import Examined, Suite, examined, suite_file
from lunguage_assets.tables import FITTED_PROBABILITIES, TABLES

TABLES_WITH_SUITE = sorted(file.stem for file in expectation().iterdir())


def unmet(*arguments: Any) -> list[Examined]:
    """The expectations that do not hold; arguments as of `examined`."""
    return [
        expectation for expectation in examined(*arguments) if not expectation.is_met
    ]


def rows(table: str, *changes: dict[str, Any]) -> pd.DataFrame:
    """A frame of the table with a plain row for each change, and these columns
    changed.
    """
    schema = TABLES[table]
    keys = [name for name in schema.key if schema.column(name).type == "string"]
    return schema.frame(
        [
            plain_row(schema, **dict.fromkeys(keys, f"x{number}") | change)
            for number, change in enumerate(changes)
        ]
    )


Changes = list[dict[str, Any]]

FITTED = {"p_source": "fitted"}
OWN = {"ruler": "own"}
PAIRWISE = {"measure": "pairwise agreement", "coding": "none", "low": 0.84, "high": 0.9}
ALPHA = {"measure": "krippendorff alpha", "coding": "position", "value": 0.7}
LONG = "There may be an opacity at the left base, which is not certain at all"
SAID = {"section": "find"}
MET: dict[str, Changes] = {
    "sentence_accounts": [SAID],
    "hedge_phrases": [{"needs_review": False}],
    "comparison_matches": [{}, {"answer": "sentence_2"}],
    "reference_ranking": [OWN, {"ruler": "published", "win_rate": 1.0}],
    "fitted_probabilities": [FITTED, {"p_source": "phrase", "p": 0.99}],
    "lunguage_plus_plus": [{}, {"match_reason": "negative"}],
    "judge_agreement": [PAIRWISE, {**PAIRWISE, "low": 0.97, "high": 0.99}, ALPHA],
    "set_aside": [],
}
"""Rows that meet all expectations of a table; of others a plain row does."""
UNMET: dict[str, list[Changes]] = {
    "sentence_accounts": [
        [SAID, {**SAID, "account": "unreadable"}], [{"section": "impr", "account": "nothing stated"}],
    ],
    "hedge_phrases": [[{"needs_review": True}], [{"needs_review": False, "answer_state": "invalid"}]],
    "hedge_vocabulary": [[{"phrase": LONG}], [{}] * 2001],
    "comparison_matches": [
        [{}, {"answer": "sentence_2"}, {"answer": "invalid"}], [{}], [{"answer": "sentence_2"}],
    ],
    "reference_ranking": [[{**OWN, "mu_sd": 4.0}], [{**OWN, "win_rate": 1.0}]],
    "fitted_probabilities": [
        [FITTED, {"p_source": "none"}], [FITTED, {**FITTED, "p": 0.95}], [{**FITTED, "p": 0.15}],
        [{**FITTED, "stop": "step limit"}], [{"p_source": "phrase", "stop": "no valid answers"}],
    ],
    "deduplicated_findings": [
        [{}, {"disposition": "merged"}], [{}, {"disposition": "excluded"}], [{"status": "tp"}],
    ],
    "expansions": [[{}, {"outcome": "spoken against"}], [{"parent_id": "one"}] * 21, [{"depth": 5}]],
    "lunguage_plus_plus": [[{"source": "expansion"}], [{"match_reason": "unknown view"}]],
    "rejected": [[{"reason": "report-other-language"}]],
    "set_aside": [[{}]],
    "judge_agreement": [
        [{**PAIRWISE, "low": 0.66, "high": 0.74}], [{**PAIRWISE, "low": 0.995, "high": 1.0}],
        [{**ALPHA, "value": 0.40}],
    ],
}  # fmt: skip
"""Table -> of each expectation in its file rows that do not meet it."""


def unmet_by_suite(table: str, frame: pd.DataFrame) -> list[Examined]:
    return unmet(TABLES[table], frame, expectation(f"{table}.yaml"))


@pytest.mark.parametrize("table", TABLES_WITH_SUITE)
def test_every_expectation_can_fail_and_says_what_to_do(table: str) -> None:
    rules = read_as(expectation(f"{table}.yaml"), Suite).expectations
    assert unmet_by_suite(table, rows(table, *MET.get(table, [{}]))) == []
    for rule, rows_that_fail in zip(rules, UNMET[table], strict=True):
        broken = unmet_by_suite(table, rows(table, *rows_that_fail))
        (outcome,) = [found for found in broken if found.why == rule.why]
        assert "not run" not in outcome.observed
        assert outcome.remedy == rule.remedy
        assert len(outcome.remedy) > 40


def test_rows_that_fail_an_expectation_are_named_by_key_alone() -> None:
    marker = "a sentence that must not leave the table"
    (expectation,) = unmet_by_suite(
        "hedge_phrases", rows("hedge_phrases", {"needs_review": True, "sent": marker})
    )
    assert expectation.keys == ("x0",)
    assert expectation.observed == "not so in 1 of 1 rows"
    assert marker not in repr(expectation)


def test_sentences_and_observed_values_are_not_shown(tmp_path: Path) -> None:
    spoken = rows("hedge_vocabulary", {"phrase": LONG})
    (of_phrase,) = unmet_by_suite("hedge_vocabulary", spoken)
    assert of_phrase.keys == ("(a phrase of 15 words)",)
    file = tmp_path / "suite.yaml"
    file.write_text(
        "expectations:\n"
        "  - {type: expect_column_distinct_values_to_be_in_set, column: sent, "
        "value_set: [x], why: w, remedy: r}\n"
    )
    (of_values,) = unmet(
        TABLES["hedge_phrases"], rows("hedge_phrases", {"sent": LONG}), file
    )
    assert of_values.observed == "other values"
    assert "opacity" not in repr((of_phrase, of_values))


WRITTEN = """
expectations:
  - {{type: expect_column_values_to_be_between, column: p, max_value: 0.4, why: Low., remedy: Do this.}}
  - {{type: {}, column: {}, {}: 0, why: w, remedy: r}}
"""


@pytest.mark.parametrize(
    "wrong",
    [
        ("expect_something_unheard_of", "p", "min_value"),
        ("expect_column_values_to_be_between", "gone", "min_value"),
        ("expect_column_values_to_be_between", "p", "minimum"),
    ],
)
def test_an_expectation_that_cannot_run_stops_no_other(
    wrong: tuple[str, str, str], tmp_path: Path
) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text(WRITTEN.format(*wrong))
    first, second = unmet(FITTED_PROBABILITIES, rows("fitted_probabilities", {}), file)
    assert first.remedy == "Do this."
    assert "was not run" in second.observed
    assert str(file) in second.remedy


def test_a_file_of_the_home_takes_the_place_of_the_packaged_one(tmp_path: Path) -> None:
    assert suite_file("expansions", tmp_path) == expectation("expansions.yaml")
    own_suite = tmp_path / "expectations" / "expansions.yaml"
    own_suite.parent.mkdir()
    own_suite.write_text("expectations: []\n")
    assert suite_file("expansions", tmp_path) == own_suite
    expanded = (TABLES["expansions"], rows("expansions", {"depth": 9}))
    assert unmet(*expanded, own_suite) == []
    own_suite.write_text(
        "expectations:\n  - {type: expect_column_to_exist, column: p, why: w}\n"
    )
    with pytest.raises(
        ConfigurationError, match=r"expansions\.yaml, field expectations\.0\.remedy"
    ):
        unmet(*expanded, own_suite)
