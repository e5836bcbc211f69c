"""What is shown as the cost of a partition is what its run asked and paid, and a check
warns of replies that were paid and cannot be used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest
from judges_files import judges_file
from loopback import Act, LoopbackServer
from small_homes import SmallHome
from stored_tables import store_table

from lunguage_assets.explicit.probability import published_anchors
from lunguage_assets.judges.ledger import Ledger
from lunguage_assets.orchestration.run import RunFailed, Stage
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.store import partition_path, read_table

COMPARE = [Stage("compare", ("one",), ("asked for",))]


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as running:
        yield running


@pytest.fixture
def asking(small: SmallHome, server: LoopbackServer) -> Iterator[SmallHome]:
    """A finished home, of which judge `one` is still to compare the phrases: the
    anchors and six more.
    """
    limits = "limits = { in_flight = 4, failures_per_request = 1 }"
    file = small.home.root / "judges.toml"
    file.write_text(judges_file(server.openai_url, ("one", "two"), limits))
    table = TABLES["hedge_vocabulary"]
    path = partition_path(small.home.tables, "hedge_vocabulary", "lexicon")
    frame = read_table(table, path)
    compared = {anchor.phrase for anchor in published_anchors().anchors}
    compared.update(frame.loc[frame["retained"], "phrase"][:6])
    frame["retained"] &= frame["phrase"].isin(compared)
    store_table(table, frame, path)
    with SmallHome.opened(small.home.root, judges_file=file) as opened:
        yield opened


def shown(small: SmallHome) -> dict[str, Any]:
    """The metadata of the latest comparisons, and of their check."""
    records_filter = dg.AssetRecordsFilter(
        dg.AssetKey("comparison_matches"), asset_partitions=["one"]
    )
    (record,) = small.instance.fetch_materializations(records_filter, limit=1).records
    metadata = record.asset_materialization.metadata
    return {name: value.value for name, value in metadata.items()}


def paid(small: SmallHome) -> dict[str, Any]:
    """What the ledger says."""
    statistics = Ledger.open(small.configuration.ledger_location).statistics()
    return dict(statistics.iloc[0])


def test_the_cost_of_a_run_is_shown_and_what_was_paid_before_is_a_hit(
    asking: SmallHome, server: LoopbackServer
) -> None:
    # The judge's account is empty after so many calls.
    server.plan(*[Act()] * 70, *[Act("no_quota")] * 30)
    with pytest.raises(RunFailed, match=r"compare \(one\)"):
        asking.runner().run(COMPARE)
    server.plan()
    before = len(server.calls)
    asking.runner().run(COMPARE)
    metadata = shown(asking)
    assert metadata["llm_calls"] == len(server.calls) - before
    assert metadata["llm_hits"] > 0
    ledger = paid(asking)
    assert ledger["attempts"] == len(server.calls)
    assert 0 < metadata["llm_cost_usd"] < ledger["cost_usd"]
    asking.runner().run(COMPARE)
    metadata = shown(asking)
    assert (metadata["llm_calls"], metadata["llm_cost_usd"]) == (0, 0.0)
    assert metadata["llm_hits"] == metadata["llm_questions"] > 0


def of_no_use(small: SmallHome) -> dg.AssetCheckEvaluation:
    """The check of the replies of the latest run."""
    run = small.instance.get_runs(limit=1)[0]
    logs = small.instance.all_logs(
        run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION
    )
    checks = [entry.get_dagster_event().asset_check_evaluation_data for entry in logs]
    (usable_check,) = [
        check for check in checks if check.check_name == "answers_usable"
    ]
    return usable_check


def test_a_check_warns_of_paid_replies_that_cannot_be_used(
    asking: SmallHome, server: LoopbackServer
) -> None:
    server.plan(*[Act()] * 60, *[Act("nonsense")] * 30)
    asking.runner().run(COMPARE)
    check = of_no_use(asking)
    ledger = paid(asking)
    assert not check.passed
    assert str(check.description).startswith(f"30 of {ledger['attempts']} replies")
    assert shown(asking)["llm_invalid"] == ledger["invalid"] == 30


def test_the_check_passes_where_a_rate_limit_only_held_calls_up(
    asking: SmallHome, server: LoopbackServer
) -> None:
    text = asking.home.root / "judges.toml"
    text.write_text(
        text.read_text().replace("failures_per_request = 1", "backoff_s = 0.001")
    )
    server.plan(*[Act("rate_limited")] * 30)
    with SmallHome.opened(asking.home.root, judges_file=text) as patient:
        patient.runner().run(COMPARE)
        assert of_no_use(patient).passed
        metadata = shown(patient)
    assert (metadata["llm_failures"], metadata["llm_invalid"]) == (30, 0)
