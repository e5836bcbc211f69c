"""What holds for every report, however it was written and whatever the encoder says."""

from __future__ import annotations

from collections import Counter

import pandas as pd
from generated_reports import reports
from hypothesis import given
from hypothesis import strategies as st
from invented_reports import (
    AlikeEmbedder,
    AnyCosines,
    Outcome,
    StatedFinding,
    dictionary,
    frames,
    run,
)
from profiles import examples
from resolution_oracle import oracle_violations

from lunguage_assets.implicit.pathways.pathways import PathwayDictionary
from lunguage_assets.implicit.resolution.conflicts import conflicts_of_keys
from lunguage_assets.implicit.resolution.guarantees import violations
from lunguage_assets.implicit.resolution.resolve import Resolution
from lunguage_assets.implicit.resolution.study import StudyResolver
from lunguage_assets.implicit.rows import Row, by_study, read_rows, write_rows
from lunguage_assets.quality.rules import belief_rules
from lunguage_assets.tables import LUNGUAGE_PLUS_PLUS, TABLES


def resolve_again(rows: pd.DataFrame, dictionary: PathwayDictionary) -> Resolution:
    """Resolve LUNGUAGE_PLUS_PLUS rows again; contradictions of stated rows, which stay,
    are not listed.
    """
    resolved: list[Row] = []
    log: list[object] = []
    conflicts: list[object] = []
    for study in by_study(read_rows(rows)):
        resolver = StudyResolver(study, dictionary)
        resolved += resolver.run()
        conflicts += conflicts_of_keys(resolver.groups)
        log += resolver.log
    return Resolution(
        rows=write_rows(LUNGUAGE_PLUS_PLUS, resolved),
        log=pd.DataFrame({"event": log}),
        conflicts=pd.DataFrame({"conflict": conflicts}),
    )


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
    stated = outcome.rows[outcome.rows["source"] == "original"].set_index("finding_id")
    merged = outcome.deduplicated.set_index("finding_id")
    pd.testing.assert_frame_equal(
        merged[fixed], given_.loc[merged.index], check_dtype=False
    )
    # A survivor may take a narrower place.
    alone = merged.index[merged["merged_ids"].str.len() == 0]
    where = findings.set_index("finding_id").loc[alone, "location"]
    assert merged.loc[alone, "location"].tolist() == where.tolist()
    pd.testing.assert_frame_equal(
        stated[fixed], given_.loc[stated.index], check_dtype=False
    )
    belief = ["prob", "support"]
    pd.testing.assert_frame_equal(stated[belief], merged.loc[stated.index, belief])


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
    rules = belief_rules(outcome.rows)
    assert [broken.rule for broken in rules if broken.rows.any()] == []
    for name, frame in outcome.stored.items():
        TABLES[name].to_arrow(frame)
    assert_resolving_again_changes_nothing(outcome)


def assert_everything_is_explained(outcome: Outcome) -> None:
    """Every stated or generated row is in the result, or exactly once in the log as
    gone.
    """
    generated = outcome.expansion.expansions.query("outcome == 'generated'")
    everything = {*outcome.deduplicated["finding_id"], *generated["finding_id"]}
    log = outcome.resolution.log
    is_gone = log["event"].isin(["merged", "removed", "excluded", "discarded"])
    gone = Counter(log.loc[is_gone, "finding_id"])
    assert outcome.ids().isdisjoint(gone)
    assert outcome.ids() | set(gone) == everything
    assert set(gone.values()) <= {1}
    assert set(log["survivor_id"].dropna()) <= outcome.ids()


@examples(12)
@given(reports, embedders, st.integers(0, 1000), modes)
def test_the_result_does_not_depend_on_the_order_of_any_input(
    rows: list[StatedFinding], embedder: object, seed: int, mode: str
) -> None:
    result, reordered_result = (
        run(rows, mode=mode, embedder=embedder, shuffle=shuffle)
        for shuffle in (None, seed)
    )
    for name, frame in result.stored.items():
        pd.testing.assert_frame_equal(frame, reordered_result.stored[name])


def assert_resolving_again_changes_nothing(outcome: Outcome) -> None:
    again = resolve_again(outcome.rows.sample(frac=1.0, random_state=3), dictionary())
    pd.testing.assert_frame_equal(again.rows, outcome.rows)
    assert len(again.log) == len(again.conflicts) == 0
