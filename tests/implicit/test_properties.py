"""What holds for every report, however it was written and whatever the encoder says."""

from __future__ import annotations

from collections import Counter

import pandas as pd
from any_cosines import AnyCosines
from derived_beliefs import wrong_beliefs
from generated_reports import reports
from hypothesis import given
from hypothesis import strategies as st
from invented_reports import (
    AlikeEmbedder,
    Outcome,
    StatedFinding,
    dictionary,
    frames,
    in_mode,
    run,
)
from profiles import examples
from resolution_oracle import oracle_violations
from resolved_again import resolve_again

from lunguage_assets.implicit.resolution.guarantees import violations
from lunguage_assets.tables import (
    ACCOUNTING,
    CONFLICTS,
    DEDUPLICATED_FINDINGS,
    EXPANSIONS,
    LUNGUAGE_PLUS_PLUS,
    PATHWAY_MATCHES,
)
from lunguage_assets.tables.implicit import RESOLUTION_LOG

embedders = st.sampled_from([None, AlikeEmbedder(), AnyCosines(0)])
histories = st.sampled_from(["exclude", "keep"])
modes = st.sampled_from(["method", "method", "paper"])


@examples(10)
@given(reports, embedders)
def test_no_stage_changes_what_a_stated_row_says(
    rows: list[StatedFinding], embedder: object
) -> None:
    findings, _, _ = frames(rows)
    fixed = [
        "subject_id", "study_id", "section", "sent_idx", "sent", "ent_idx", "ent", "name", "cat", "status",
        "currency", "view_information",
    ]  # fmt: skip
    given_ = findings.set_index("finding_id")[fixed]
    outcome = run(rows, embedder=embedder)
    belief = outcome.deduplicated.set_index("finding_id")[["prob", "support"]]
    stated = outcome.rows[outcome.rows["source"] == "original"].set_index("finding_id")
    merged = outcome.deduplicated.set_index("finding_id")
    pd.testing.assert_frame_equal(
        merged[fixed], given_.loc[merged.index], check_dtype=False
    )
    alone = merged.index[
        merged["merged_ids"].str.len() == 0
    ]  # a survivor may take a narrower place
    where = findings.set_index("finding_id").loc[alone, "location"]
    assert merged.loc[alone, "location"].tolist() == where.tolist()
    pd.testing.assert_frame_equal(
        stated[fixed], given_.loc[stated.index], check_dtype=False
    )
    pd.testing.assert_frame_equal(stated[["prob", "support"]], belief.loc[stated.index])


@examples(30)
@given(reports, embedders, histories, modes)
def test_the_guarantees_hold_and_every_row_is_accounted_for(
    rows: list[StatedFinding], embedder: object, history: str, mode: str
) -> None:
    outcome = run(rows, mode=mode, embedder=embedder, history=history)
    assert violations(outcome.rows) == []
    assert outcome.accounting["balanced"].all()
    assert sorted(outcome.accounting["study_id"]) == sorted({row.study for row in rows})
    assert_everything_is_explained(outcome)
    assert mode == "paper" or oracle_violations(outcome) == []
    assert_every_table_fits_its_schema(outcome)
    assert_resolving_again_changes_nothing(outcome)


def assert_everything_is_explained(outcome: Outcome) -> None:
    """Every stated or generated row is in the result, or exactly once in the log as
    gone.
    """
    generated = outcome.expansion.expansions.query("outcome == 'generated'")[
        "finding_id"
    ]
    everything = {*outcome.deduplicated["finding_id"], *generated}
    log = outcome.resolution.log
    gone = Counter(
        log.loc[
            log["event"].isin(["merged", "removed", "excluded", "discarded"]),
            "finding_id",
        ]
    )
    assert outcome.ids().isdisjoint(gone)
    assert outcome.ids() | set(gone) == everything
    assert set(gone.values()) <= {1}
    survivors = set(log["survivor_id"].dropna())
    assert survivors <= outcome.ids()


def assert_every_table_fits_its_schema(outcome: Outcome) -> None:
    for table, frame in (
        (DEDUPLICATED_FINDINGS, outcome.deduplicated),
        (PATHWAY_MATCHES, outcome.expansion.matches),
        (EXPANSIONS, outcome.expansion.expansions),
        (LUNGUAGE_PLUS_PLUS, outcome.rows),
        (RESOLUTION_LOG, outcome.resolution.log),
        (CONFLICTS, outcome.resolution.conflicts),
        (ACCOUNTING, outcome.accounting),
    ):
        table.to_arrow(frame)


@examples(12)
@given(reports, embedders, st.integers(0, 1000), modes)
def test_the_result_does_not_depend_on_the_order_of_any_input(
    rows: list[StatedFinding], embedder: object, seed: int, mode: str
) -> None:
    result, reordered_result = (
        run(rows, mode=mode, embedder=embedder, shuffle=shuffle)
        for shuffle in (None, seed)
    )
    for first, second in (
        (result.deduplicated, reordered_result.deduplicated),
        (result.expansion.matches, reordered_result.expansion.matches),
        (result.expansion.expansions, reordered_result.expansion.expansions),
        (result.rows, reordered_result.rows),
        (result.resolution.log, reordered_result.resolution.log),
        (result.resolution.conflicts, reordered_result.resolution.conflicts),
        (result.accounting, reordered_result.accounting),
    ):
        pd.testing.assert_frame_equal(first, second)


def assert_resolving_again_changes_nothing(outcome: Outcome) -> None:
    again = resolve_again(outcome.rows.sample(frac=1.0, random_state=3), dictionary())
    pd.testing.assert_frame_equal(again.rows, outcome.rows)
    assert len(again.log) == len(again.conflicts) == 0


@examples(10)
@given(reports, st.sampled_from(["method", "paper"]))
def test_every_probability_is_what_a_second_computation_says(
    rows: list[StatedFinding], mode: str
) -> None:
    _, fitted, _ = frames(rows)
    assert wrong_beliefs(in_mode(rows, mode).rows, fitted) == {}
