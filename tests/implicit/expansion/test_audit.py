"""What the reports say of the edges of the pathways (implicit.md section 4)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd
import pytest
from generated_reports import reports as reported
from hypothesis import given
from invented_reports import StatedFinding, dictionary, run, stated
from profiles import examples

from lunguage_assets.implicit.expansion.audit import Counts, audit_table, edge_counts
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.tables import PATHWAY_AUDIT


def counts(rows: pd.DataFrame) -> Counts:
    return edge_counts(rows, dictionary(), load_label_list(dictionary=dictionary()))


def audited(*rows: StatedFinding) -> pd.DataFrame:
    """The edges whose diagnosis some study states without doubt; without any, all."""
    frame = audit_table(counts(run(rows).rows), dictionary())
    PATHWAY_AUDIT.to_arrow(frame)
    stated = frame[frame["studies"] > 0]
    return stated if len(stated) else frame


def edge(sub_finding: str, *rows: StatedFinding) -> dict[str, Any]:
    frame = audited(*rows)
    return {
        str(k): v
        for k, v in frame[frame["sub_finding"] == sub_finding].iloc[0].to_dict().items()
    }


def counted(row: dict[str, Any]) -> tuple[int, ...]:
    return tuple(
        row[name]
        for name in ("studies", "mentioned", "as_implied", "otherwise", "both")
    )


@pytest.mark.parametrize(("status", "agrees"), [("dn", 0), ("tp", 1), ("tn", 0)])
def test_a_denial_speaks_against_the_edge_and_a_doubtful_presence_for_it(
    status: str, agrees: int
) -> None:
    p = {"tp": 0.6, "tn": 0.2}.get(status)
    counts_of_edge = edge(
        "pulmonary edema", stated("CHF"), stated("pulmonary edema", status, p=p)
    )
    assert counted(counts_of_edge)[1:4] == (1, agrees, 1 - agrees)


def test_the_size_of_the_heart_states_or_denies_that_it_is_enlarged() -> None:
    normal = edge(
        "cardiomegaly",
        stated("CHF", view="pa"),
        stated("heart size", measurement="normal"),
    )
    enlarged = edge(
        "cardiomegaly",
        stated("CHF", view="pa"),
        stated("heart size", measurement="enlarged"),
    )
    assert (normal["otherwise"], enlarged["as_implied"]) == (1, 1)


def test_a_mention_at_another_place_does_not_count() -> None:
    rows = (
        stated("consolidation", location="right upper lobe"),
        stated("opacity", location="left lower lobe"),
    )
    assert edge("opacity", *rows)["mentioned"] == 0


def test_of_a_doubtful_diagnosis_nothing_follows_so_it_is_in_no_share() -> None:
    counts_of_edge = edge(
        "opacity", stated("pneumonia", "tp", p=0.7), stated("opacity")
    )
    assert counted(counts_of_edge) == (0, 0, 0, 0, 0)


def test_the_interval_is_wilsons_and_is_set_beside_the_experts() -> None:
    from scipy.stats import binomtest  # slow to import

    pathway = dictionary().pathways_of("consolidation")[0].id
    for hits, n, verdict in ((10, 40, "below"), (97, 100, "above"), (8, 10, "open")):
        tally: Counts = Counter(
            {((pathway, 0), "present"): hits, ((pathway, 0), "absent"): n - hits}
        )
        frame = (
            audit_table(tally, dictionary())
            .query("pathway_id == @pathway and edge == 0")
            .iloc[0]
        )
        assert (frame["share_low"], frame["share_high"]) == pytest.approx(
            binomtest(hits, n).proportion_ci(method="wilson")
        )
        assert (frame["share"], frame["against_experts"]) == (
            pytest.approx(hits / n),
            verdict,
        )


@given(reported)
@examples(15)
def test_every_study_is_counted_once_for_an_edge_and_parts_add_up(
    rows: list[StatedFinding],
) -> None:
    result = run(rows).rows
    all_counts = counts(result)
    studies = result["study_id"].unique().tolist()
    half = studies[: len(studies) // 2]
    half_counts = counts(result[result["study_id"].isin(half)])
    half_counts.update(counts(result[~result["study_id"].isin(half)]))
    assert all_counts == half_counts
    frame = audit_table(all_counts, dictionary())
    PATHWAY_AUDIT.to_arrow(frame)
    assert frame["studies"].max() <= len(studies)
    assert (frame["as_implied"] + frame["otherwise"] == frame["mentioned"]).all()
