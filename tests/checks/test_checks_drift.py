"""A drift is a difference that is no chance and is large enough to matter; findings of one study count as
alike as they are.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lunguage_assets.home.home import Home
from lunguage_assets.home.store import partition_path, write_table
from lunguage_assets.quality.drift import Sample, Share, distribution_shift, share_shifts
from lunguage_assets.quality.earlier import batches_before, earlier_rows
from lunguage_assets.quality.measures import expansion_shares, intake_shares, without
from lunguage_assets.settings import CheckSettings
from lunguage_assets.tables import TERMS

LIMITS = CheckSettings()


def sample(values: np.ndarray, per_study: int = 1) -> Sample:
    studies = np.array([f"s{number // per_study:08d}" for number in range(len(values))], dtype=object)
    return Sample(values.astype(np.float64), studies)


def draws(n: int, centre: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(centre, 0.15, n).clip(0.01, 0.99)


def test_the_same_distribution_is_no_drift_and_another_one_is() -> None:
    same = distribution_shift(sample(draws(300, 0.5, 1)), sample(draws(900, 0.5, 2)), LIMITS)
    other = distribution_shift(sample(draws(300, 0.6, 1)), sample(draws(900, 0.5, 2)), LIMITS)
    assert same is not None
    assert other is not None
    assert not same.drifted
    assert other.drifted


def test_a_difference_that_does_not_matter_is_no_drift_however_many_reports_there_are() -> None:
    shift = distribution_shift(sample(draws(40_000, 0.51, 1)), sample(draws(40_000, 0.5, 2)), LIMITS)
    assert shift is not None
    assert shift.p_value < 1e-6
    assert not shift.drifted


def test_few_reports_prove_no_drift() -> None:
    shift = distribution_shift(sample(draws(4, 0.7, 1)), sample(draws(500, 0.5, 2)), LIMITS)
    assert shift is not None
    assert shift.distance >= LIMITS.drift_distance
    assert not shift.drifted


def test_a_batch_without_probabilities_is_compared_with_nothing() -> None:
    assert distribution_shift(sample(np.empty(0)), sample(draws(5, 0.5, 1)), LIMITS) is None
    assert distribution_shift(sample(draws(5, 0.5, 1)), sample(np.empty(0)), LIMITS) is None


def test_equal_findings_of_a_study_count_once_and_independent_ones_count_all() -> None:
    equal = sample(np.repeat(draws(50, 0.5, 3), 4), per_study=4)
    independent = sample(draws(2000, 0.5, 4), per_study=4)
    assert equal.effective == pytest.approx(50.0)
    assert independent.effective > 1700
    alike = distribution_shift(equal, sample(draws(500, 0.6, 5)), LIMITS)
    apart = distribution_shift(
        Sample(equal.values, sample(equal.values).studies), sample(draws(500, 0.6, 5)), LIMITS
    )
    assert alike is not None
    assert apart is not None
    assert alike.p_value > apart.p_value


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0.1, 0.4, 0.5, 0.9])), min_size=1, max_size=40))
def test_the_effective_size_lies_between_one_and_the_number_of_values(pairs: list[tuple[int, float]]) -> None:
    studies = np.array([f"s{study}" for study, _ in pairs], dtype=object)
    effective = Sample(np.array([value for _, value in pairs]), studies).effective
    assert 1.0 - 1e-9 <= effective <= len(pairs) + 1e-9


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


def matches(*rows: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["study_id", "diagnosis", "reason"]).assign(generated=False)


def test_expansion_is_counted_over_studies_where_it_could_be_and_over_all() -> None:
    new = matches(
        ("s1", "pneumonia", "matched"),
        ("s1", "pneumonia", "matched"),
        ("s2", "pneumonia", "negative"),
        ("s3", "", "not a diagnosis"),
    )
    earlier = matches(("s8", "pneumonia", "unknown view"), ("s9", "pneumonia", "matched"))
    could, all_ = expansion_shares(new, earlier)
    assert (could.hits, could.studies, could.hits_earlier, could.studies_earlier) == (1, 1, 1, 2)
    assert (all_.hits, all_.studies, all_.hits_earlier, all_.studies_earlier) == (1, 3, 1, 2)


def test_intake_is_counted_per_study() -> None:
    reports = pd.DataFrame(
        {"study_id": ["s1", "s2"], "rows_rejected": [2, 0], "view_source": ["unknown", "metadata"]}
    )
    findings = pd.DataFrame(
        {"study_id": ["s1", "s1"], "status": ["tp", "tn"], "mask_state": ["masked", "not located"]}
    )
    counted = {
        share.label: (share.hits, share.studies)
        for share in intake_shares(reports, findings, reports.head(0), findings.head(0))
    }
    assert list(counted.values()) == [(1, 2), (1, 2), (1, 2), (1, 1)]


def test_a_study_that_comes_again_is_compared_with_nothing_of_itself() -> None:
    earlier = pd.DataFrame(
        {"study_id": ["s1", "s2", "s2", "s3"], "report_batch": ["a", "a", "b", "b"], "row": [1, 2, 3, 4]}
    )
    assert without(earlier, pd.DataFrame({"study_id": ["s3"]}))["row"].tolist() == [1, 3]
    assert without(earlier.head(0), pd.DataFrame({"study_id": ["s3"]})).empty


def test_only_batches_registered_before_and_stored_are_read_and_only_the_latest_of_them(tmp_path) -> None:
    home = Home(tmp_path / "home")
    for batch in ("one", "two", "three", "four"):
        folder = tmp_path / batch
        folder.mkdir()
        (folder / "Lunguage.csv").write_text(f"study_id\n{batch}\n")
        home.register(folder, batch, "corpus", "synthetic")
    assert batches_before(home, "one", 20) == []
    assert batches_before(home, "three", 20) == ["one", "two"]
    assert batches_before(home, "four", 2) == ["two", "three"]
    assert batches_before(home, "four", 0) == []
    assert batches_before(home, "unknown", 20) == []
    for batch in ("one", "four"):
        row = {"category": "PF", "subcategory": "", "target_term": batch, "normed_term": "x"}
        write_table(TERMS, TERMS.frame([row]), partition_path(home.tables, "terms", batch))
    found = earlier_rows(home, "terms", ["target_term"], batches_before(home, "three", 20))
    assert found.batches == ("one",)
    assert found.frame.to_dict("list") == {"target_term": ["one"], "report_batch": ["one"]}
    assert earlier_rows(home, "terms", ["target_term"], []).frame.empty
