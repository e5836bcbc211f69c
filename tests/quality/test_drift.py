"""A drift is a difference that is no chance and is large enough to matter; findings of one study count as
alike as they are.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from scipy import stats
from small_homes import store_unchecked
from statsmodels.stats.multitest import multipletests

from lunguage_assets.home.home import Home
from lunguage_assets.home.store import partition_path
from lunguage_assets.quality.drift import Sample, Share, Shift, distribution_shift, share_shifts
from lunguage_assets.quality.earlier import batches_before, view_with_earlier
from lunguage_assets.quality.measures import expansion_shares, intake_shares, p_distance, p_samples
from lunguage_assets.settings import CheckSettings
from lunguage_assets.tables import REPORTS

LIMITS = CheckSettings()


def rows(values: np.ndarray, per_study: int = 1) -> pd.DataFrame:
    studies = [f"s{number // per_study:08d}" for number in range(len(values))]
    return pd.DataFrame({"study_id": studies, "p": values.astype(np.float64), "p_source": "fitted"})


def fits(new: pd.DataFrame, earlier: pd.DataFrame) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    both = pd.concat([new.assign(is_new=True), earlier.assign(is_new=False)], ignore_index=True)
    connection.register("fitted_probabilities", both)
    return connection


def shift(new: pd.DataFrame, earlier: pd.DataFrame) -> Shift:
    connection = fits(new, earlier)
    here, before = p_samples(connection)
    assert here is not None
    assert before is not None
    return distribution_shift(p_distance(connection), here, before, LIMITS)


def sample(frame: pd.DataFrame) -> Sample:
    found, nothing = p_samples(fits(frame, frame.head(0)))
    assert found is not None
    assert nothing is None
    return found


def draws(n: int, centre: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(centre, 0.15, n).clip(0.01, 0.99)


def test_the_same_distribution_is_no_drift_and_another_one_is() -> None:
    assert not shift(rows(draws(300, 0.5, 1)), rows(draws(900, 0.5, 2))).drifted
    assert shift(rows(draws(300, 0.6, 1)), rows(draws(900, 0.5, 2))).drifted


def test_a_difference_that_does_not_matter_is_no_drift_however_many_reports_there_are() -> None:
    found = shift(rows(draws(40_000, 0.51, 1)), rows(draws(40_000, 0.5, 2)))
    assert found.p_value < 1e-6
    assert not found.drifted


def test_few_reports_prove_no_drift() -> None:
    found = shift(rows(draws(4, 0.7, 1)), rows(draws(500, 0.5, 2)))
    assert found.distance >= LIMITS.drift_distance
    assert not found.drifted


def test_a_batch_without_probabilities_is_compared_with_nothing() -> None:
    without = rows(draws(5, 0.5, 1)).assign(p_source="none")
    assert p_samples(fits(without, rows(draws(5, 0.5, 1))))[0] is None
    assert p_samples(fits(rows(draws(5, 0.5, 1)), without))[1] is None


def test_equal_findings_of_a_study_count_once_and_independent_ones_count_all() -> None:
    equal = rows(np.repeat(draws(50, 0.5, 3), 4), per_study=4)
    assert sample(equal).effective == pytest.approx(50.0)
    assert sample(rows(draws(2000, 0.5, 4), per_study=4)).effective > 1700
    other = rows(draws(500, 0.6, 5))
    assert shift(equal, other).p_value > shift(rows(equal["p"].to_numpy()), other).p_value


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0.1, 0.4, 0.5, 0.9])), min_size=1, max_size=40))
def test_the_effective_size_lies_between_one_and_the_number_of_values(pairs: list[tuple[int, float]]) -> None:
    frame = rows(np.array([value for _, value in pairs])).assign(study_id=[f"s{study}" for study, _ in pairs])
    assert 1.0 - 1e-9 <= sample(frame).effective <= len(pairs) + 1e-9


def test_distance_and_summary_are_those_of_the_values() -> None:
    new, earlier = draws(60, 0.55, 6).round(2), draws(200, 0.5, 7).round(2)
    connection = fits(rows(new, per_study=3), rows(earlier))
    assert p_distance(connection) == pytest.approx(stats.ks_2samp(new, earlier).statistic, abs=1e-12)
    found = sample(rows(new, per_study=3))
    assert (found.values, found.studies, found.squares) == (60, 20, 180.0)
    assert (found.mean, found.sd) == (pytest.approx(new.mean()), pytest.approx(new.std()))
    assert list(found.quantiles) == pytest.approx(np.quantile(new, [0.1, 0.5, 0.9]))
    groups = new.reshape(20, 3)
    assert found.within == pytest.approx(((groups - groups.mean(1, keepdims=True)) ** 2).sum())
    assert found.between == pytest.approx((3 * (groups.mean(1) - new.mean()) ** 2).sum())


def test_p_values_are_those_of_fisher_corrected_as_holm_has_it() -> None:
    (tea,) = share_shifts([Share("tea", 3, 4, 1, 4)], LIMITS)
    assert tea.p_value == pytest.approx(34 / 70)  # Fisher's lady tasting tea: 17 of 70 ways, on either side
    shares = [Share(str(n), n, 20, 20, 60) for n in (12, 7, 1, 14, 6)]
    alone = [share_shifts([share], LIMITS)[0].p_value for share in shares]
    expected = multipletests(alone, method="holm")[1]
    assert [found.p_value for found in share_shifts(shares, LIMITS)] == pytest.approx(list(expected))


def test_many_comparisons_raise_the_bar_for_each() -> None:
    alone = share_shifts([Share("a", 10, 20, 25, 100)], LIMITS)
    among = share_shifts(
        [Share("a", 10, 20, 25, 100), *(Share(f"b{n}", 5, 20, 25, 100) for n in range(20))], LIMITS
    )
    assert among[0].p_value > alone[0].p_value
    assert among[0].effect == alone[0].effect


def test_a_share_drifts_in_either_direction_and_one_without_studies_is_left_out() -> None:
    found = share_shifts(
        [Share("gone", 0, 60, 50, 60), Share("new", 50, 60, 0, 60), Share("nothing", 0, 0, 3, 60)], LIMITS
    )
    assert [(shift.share.label, shift.drifted) for shift in found] == [("gone", True), ("new", True)]
    assert found[0].effect < 0 < found[1].effect
    assert share_shifts([], LIMITS) == []


def test_expansion_is_counted_over_studies_where_it_could_be_and_over_all() -> None:
    matches = [
        ("s1", "pneumonia", "matched", True),
        ("s1", "pneumonia", "matched", True),
        ("s2", "pneumonia", "negative", True),
        ("s3", "", "not a diagnosis", True),
        ("s8", "pneumonia", "unknown view", False),
        ("s9", "pneumonia", "matched", False),
    ]
    connection = duckdb.connect()
    frame = pd.DataFrame(matches, columns=["study_id", "diagnosis", "reason", "is_new"])
    connection.register("pathway_matches", frame.assign(generated=False))
    could, all_ = expansion_shares(connection)
    assert (could.hits, could.studies, could.hits_earlier, could.studies_earlier) == (1, 1, 1, 2)
    assert (all_.hits, all_.studies, all_.hits_earlier, all_.studies_earlier) == (1, 3, 1, 2)


def test_intake_is_counted_per_study() -> None:
    connection = duckdb.connect()
    reports = {"study_id": ["s1", "s2"], "rows_rejected": [2, 0], "view_source": ["unknown", "metadata"]}
    findings = {"study_id": ["s1", "s1"], "status": ["tp", "tn"], "mask_state": ["masked", "not located"]}
    connection.register("reports", pd.DataFrame(reports).assign(is_new=True))
    connection.register("findings", pd.DataFrame(findings).assign(is_new=True))
    found = intake_shares(connection)
    assert [(share.hits, share.studies) for share in found] == [(1, 2), (1, 2), (1, 2), (1, 1)]
    assert all((share.hits_earlier, share.studies_earlier) == (0, 0) for share in found)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Four registered batches, nothing of them stored."""
    home = Home(tmp_path / "home")
    for batch in ("one", "two", "three", "four"):
        folder = tmp_path / batch
        folder.mkdir()
        (folder / "Lunguage.csv").write_text(f"study_id\n{batch}\n")
        home.register(folder, batch, "corpus", "synthetic")
    return home


def store(home: Home, batch: str, *studies: str, view: str = "metadata", other_schema: bool = False) -> None:
    path = Path(str(partition_path(home.tables, "reports", batch)))
    plain = {"string": "", "int": 0, "float": 0.0, "bool": False, "strings": []}
    rows = [{c.name: plain[c.type] for c in REPORTS.columns} | {"study_id": study} for study in studies]
    store_unchecked(REPORTS, pd.DataFrame(rows, columns=REPORTS.names).assign(view_source=view), path)
    if other_schema:
        pq.write_table(pq.read_table(path).drop_columns(["rows_rejected"]), path)


def compared(home: Home, before: list[str], same: str = "") -> tuple[list[str], list[tuple[str, str, bool]]]:
    connection = duckdb.connect()
    found = view_with_earlier(connection, home, "reports", "four", before, same=same)
    rows = connection.execute("SELECT study_id, report_batch, is_new FROM reports ORDER BY ALL").fetchall()
    return found, rows


def test_a_batch_is_read_beside_the_earlier_ones_that_are_stored_in_this_versions_form(home: Home) -> None:
    store(home, "one", "a")
    store(home, "three", "b", other_schema=True)
    store(home, "four", "c")
    assert compared(home, ["one", "two", "three"]) == (["one"], [("a", "one", False), ("c", "four", True)])
    assert compared(home, []) == ([], [("c", "four", True)])


def test_a_study_that_comes_again_is_compared_with_nothing_of_itself(home: Home) -> None:
    store(home, "one", "a", "b")
    store(home, "two", "b", "c", "d")
    store(home, "four", "c")
    _, rows = compared(home, ["one", "two"])
    assert rows == [("a", "one", False), ("b", "two", False), ("c", "four", True), ("d", "two", False)]


def test_earlier_rows_of_another_ranking_are_left_out_before_the_newest_are_chosen(home: Home) -> None:
    store(home, "one", "a", "b")
    store(home, "two", "b", view="other")
    store(home, "four", "c")
    assert compared(home, ["one", "two"], same="view_source")[1] == [
        ("a", "one", False),
        ("b", "one", False),
        ("c", "four", True),
    ]


def test_only_batches_registered_before_count_and_only_the_latest_of_them(home: Home) -> None:
    assert batches_before(home, "one", 20) == []
    assert batches_before(home, "three", 20) == ["one", "two"]
    assert batches_before(home, "four", 2) == ["two", "three"]
    assert batches_before(home, "four", 0) == []
    assert batches_before(home, "unknown", 20) == []
