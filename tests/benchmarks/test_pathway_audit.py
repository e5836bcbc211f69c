"""What the reports say of the edges of the pathways (`benchmarks/pathway_audit.py`)."""

from __future__ import annotations

import pandas as pd
import pytest
from finished_homes import Finished
from invented_reports import StatedFinding, dictionary, run, stated
from pathway_audit import audit, mentions_of_edges, mentions_of_home

from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.tables import LUNGUAGE_PLUS_PLUS
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path, read_table

CHF_PA = stated("CHF", view="pa")
ENLARGED = stated("heart size", measurement="enlarged")
CONSOLIDATION = stated("consolidation", location="RUL")
EDEMA = "pulmonary edema"


def audited(*rows: StatedFinding) -> pd.DataFrame:
    labels = load_label_list(dictionary())
    return audit(mentions_of_edges(run(rows).rows, dictionary(), labels))


@pytest.mark.parametrize(
    ("sub_finding", "rows", "counts"),
    [
        (EDEMA, (stated("CHF"), stated(EDEMA, "dn")), [1, 0]),
        (EDEMA, (stated("CHF"), stated(EDEMA, "tp", p=0.6)), [1, 1]),
        (EDEMA, (stated("CHF"), stated(EDEMA, "tn", p=0.2)), [1, 0]),
        # The size of the heart states or denies that it is enlarged.
        ("cardiomegaly", (CHF_PA, stated("heart size", measurement="normal")), [1, 0]),
        ("cardiomegaly", (CHF_PA, ENLARGED), [1, 1]),
        # Elsewhere it is no mention, and of a doubtful diagnosis nothing follows.
        ("opacity", (CONSOLIDATION, stated("opacity", location="LLL")), None),
        ("opacity", (stated("pneumonia", "tp", p=0.7), stated("opacity")), None),
    ],
)
def test_a_sign_is_mentioned_as_implied_otherwise_or_not_at_all(
    sub_finding: str, rows: tuple[StatedFinding, ...], counts: list[int] | None
) -> None:
    edges = audited(*rows)
    edge = edges[edges["sub_finding"] == sub_finding]
    found = edge[["mentioned", "as_implied"]].to_numpy().tolist()
    assert found == ([] if counts is None else [counts])


def test_a_home_is_audited_over_all_its_batches(finished: Finished) -> None:
    mentions = mentions_of_home(Home(finished.home), "panel")
    parents = "status == 'dp' and source == 'original' and pathway_id != ''"
    for batch in ("first", "second"):
        path = partition_path(
            finished.home / "tables", "lunguage_plus_plus", "panel", batch
        )
        rows = read_table(LUNGUAGE_PLUS_PLUS, path).query(parents)
        assert len(rows) > 0
        assert set(rows["study_id"]) <= set(mentions["study_id"])
