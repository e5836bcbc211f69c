"""Denials that deny no more than a kind of a finding (implicit.md section 2)."""

from __future__ import annotations

from typing import Any

import pytest
from invented_reports import deduplicated, identity, in_mode, record, said

from lunguage_assets.implicit.statements.against import qualifying

_PLAIN = ("",) * 5


def kind(name: str, ent: str, sentence: str, *cells: str) -> str:
    found = qualifying(name, ent, sentence, (*cells, *_PLAIN)[:5])
    return "" if found is None else f"{found[0].name}: {found[1]}"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (kind("pleural effusion", "effusion", "No large effusion.", "large"), "amount: large"),
        (
            kind("pleural effusion", "effusion", "No pneumothorax or large effusion.", "large"),
            "amount: large",
        ),
        (kind("pneumothorax", "pneumothorax", "No large effusion or pneumothorax."), ""),
        (kind("mass", "mass", "No suspicious nodule or mass."), "suspicious: suspicious"),
        (kind("pleural effusion", "effusion", "No suspicious nodule or effusion."), ""),
        (kind("pleural effusion", "effusion", "No new opacity or effusion."), "new: new"),
        (kind("opacity", "opacities", "No pneumothorax and no new opacities."), "new: new"),
        (kind("fracture", "fracture", "No other fracture."), "other: other"),
        (kind("fracture", "fracture", "No acute fracture.", "acute"), "acute: acute"),
        (kind("tuberculosis", "active tuberculosis", "No active tuberculosis."), "acute: active"),
        (kind("consolidation", "consolidation", "No focal consolidation.", "focal"), ""),
    ],
)
def test_a_word_restricts_the_denial_of_the_finding_that_it_describes(found: str, said: str) -> None:
    assert found == said


def belief(row: Any) -> tuple[str, str, float]:
    found = record(deduplicated([row]), identity(0))
    return found["status"], found["p_source"], found["prob"]


def test_the_denial_of_a_kind_is_tentative_and_has_the_p_of_its_qualifier() -> None:
    row = said("effusion", "dn", sent="No sizable effusion.", measurement="sizable")
    status, source, p = belief(row)
    assert (status, source) == ("tn", "qualifier")
    assert p == pytest.approx((2 + 0.5) / (157 + 1))


@pytest.mark.parametrize(
    "row",
    [
        said(
            "effusion",
            "dn",
            sent="The large effusion has resolved.",
            measurement="large",
            improved="resolved",
        ),
        said("effusion", "dn", sent="No effusion."),
        said("effusion", sent="No pneumothorax, large effusion.", measurement="large"),
    ],
)
def test_what_has_resolved_or_is_there_is_not_restricted(row: Any) -> None:
    assert belief(row)[1] == "definitive"


def test_mode_paper_takes_the_status_as_it_is() -> None:
    row = said("effusion", "dn", sent="No large effusion.", measurement="large")
    found = in_mode([row], "paper").rows.iloc[0]
    assert (found["status"], found["prob"]) == ("dn", 0.0)


def test_the_denial_of_a_kind_is_no_duplicate_of_the_denial_of_all() -> None:
    rows = [said("effusion", "dn", sent="No effusion."), said("effusion", "dn", sent="No new effusion.")]
    assert deduplicated(rows)["merged_into"].isna().all()
