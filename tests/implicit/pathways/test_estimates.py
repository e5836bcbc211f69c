"""Estimates of implied findings: the network is exact, and follows the reports and the experts."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented_reports import Said, dictionary, in_mode, run, said
from numpy.typing import NDArray
from profiles import examples

from lunguage_assets.implicit.pathways import estimates
from lunguage_assets.implicit.pathways.estimates import (
    ALONE,
    ANYWHERE,
    counted_estimator,
    estimator,
    marginals,
    sign_counts,
)
from lunguage_assets.implicit.statements.label_file import load_label_list

Floats = NDArray[np.float64]
Network = tuple[Floats, Floats, Floats]
PRIOR = estimator(Counter(), Counter(), dictionary())
"""Of no reports at all."""


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Up to seven nodes, causes before effects, some of them known, for sure or not."""
    size = draw(st.integers(2, 7))
    p = st.floats(0.05, 0.95)
    leaks = np.array(draw(st.lists(p, min_size=size, max_size=size)))
    strengths = np.zeros((size, size))
    for cause in range(size):
        for effect in range(cause + 1, size):
            strengths[cause, effect] = draw(st.just(0.0) | p)
    known = st.sampled_from(
        [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.3, 0.9), (1.4, 0.2)]
    )
    return (
        leaks,
        strengths,
        np.array(draw(st.lists(known, min_size=size, max_size=size))),
    )


def by_every_state(leaks: Floats, strengths: Floats, weights: Floats) -> Floats:
    """The plain second implementation: every state of all nodes, one node at a time."""
    total, true = 0.0, np.zeros(len(leaks))
    for state in product((0, 1), repeat=len(leaks)):
        joint = 1.0
        for node, value in enumerate(state):
            no = (1.0 - leaks[node]) * math.prod(
                1.0 - strengths[cause, node]
                for cause, there in enumerate(state)
                if there
            )
            joint *= (no, 1.0 - no)[value] * weights[node, value]
        total += joint
        true += joint * np.array(state)
    return true / total


@given(networks())
@examples(60)
def test_marginals_are_those_of_every_state(network: Network) -> None:
    assert marginals(*network) == pytest.approx(by_every_state(*network))


def test_marginals_are_those_of_pyagrum() -> None:
    gum = pytest.importorskip("pyagrum")
    leaks, strengths = np.array([0.6, 0.3, 0.1, 0.2]), np.zeros((4, 4))
    strengths[0, 2], strengths[1, 2], strengths[2, 3], strengths[0, 3] = (
        0.9,
        0.7,
        0.8,
        0.4,
    )
    weights = np.array([[1.0, 1.0], [1.0, 1.0], [0.4, 0.9], [1.0, 1.0]])
    net = gum.BayesNet()
    for node, leak in enumerate(leaks):
        net.addNoisyORNet(gum.LabelizedVariable(str(node), "", 2), float(leak))
    for cause, effect in zip(*strengths.nonzero(), strict=True):
        net.addWeightedArc(int(cause), int(effect), float(strengths[cause, effect]))
    inference = gum.LazyPropagation(net)
    inference.addEvidence("2", weights[2].tolist())
    inference.makeInference()
    expected = [inference.posterior(str(node))[1] for node in range(4)]
    assert marginals(leaks, strengths, weights) == pytest.approx(expected)


def test_too_many_causes_are_not_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "MOST_CAUSES", 1)
    strengths = np.zeros((3, 3))
    strengths[:2, 2] = 0.5
    assert marginals(np.array([0.5, 0.5, 0.1]), strengths, np.ones((3, 2))) is None
    assert marginals(np.array([1.0, 0.5, 0.1]), strengths, np.ones((3, 2))) is not None


def estimate(name: str, *rows: Said, of: estimates.Estimator = PRIOR) -> float:
    made = run(rows)
    found = of.estimates(made.rows, made.resolution.log)
    there = (made.rows["name"] == name) & (made.rows["source"] == "expansion")
    return float(found[there].iloc[0])


def test_without_reports_a_sign_of_a_sure_diagnosis_has_what_the_experts_say() -> None:
    assert estimate("opacity", said("consolidation")) == pytest.approx(0.9)


def test_a_hedged_diagnosis_gives_its_share_and_the_leak_gives_the_rest() -> None:
    p = estimate("opacity", said("consolidation", "tp", p=0.6))
    assert p == pytest.approx(0.6 * 0.9 + 0.4 * 0.1)


def test_a_denied_sign_speaks_against_its_diagnosis_and_so_against_its_other_signs() -> (
    None
):
    pneumonia = said("pneumonia", "tp", p=0.6)
    rows = [said("atelectasis", "tp", p=0.6), said("opacity", "dn")]
    assert estimate("volume loss", *rows) < estimate("volume loss", rows[0])
    assert estimate("opacity", pneumonia) > estimate(
        "opacity", said("pneumonia", "tp", p=0.3)
    )


def test_two_diagnoses_that_imply_a_sign_make_it_likelier_than_either() -> None:
    one, other = said("pneumonia", "tp", p=0.6), said("atelectasis", "tp", p=0.6)
    assert estimate("opacity", one, other) > max(
        estimate("opacity", one), estimate("opacity", other)
    )


def test_a_sign_that_is_implied_to_be_absent_has_the_p_that_it_is_present() -> None:
    rows = run([said("pneumothorax")])
    found = PRIOR.estimates(rows.rows, rows.resolution.log)
    denied = rows.rows["status"] == "dn"
    assert found[denied].tolist() == pytest.approx([0.1])
    assert rows.rows.loc[denied, "prob"].tolist() == [0.0]


def test_stated_rows_and_mode_paper_have_no_estimate() -> None:
    rows = run([said("consolidation")])
    found = PRIOR.estimates(rows.rows, rows.resolution.log)
    assert found[rows.rows["source"] == "original"].isna().all()
    as_paper = in_mode([said("consolidation")], "paper")
    assert (as_paper.rows["source"] == "expansion").any()
    assert PRIOR.estimates(as_paper.rows, as_paper.resolution.log).isna().all()


def test_what_reports_say_of_a_sign_moves_its_strength_and_its_leak() -> None:
    with_it = [
        one
        for number in range(30)
        for one in (
            said("consolidation", study=f"s{number:08d}"),
            said(
                "opacity",
                "dn" if number < 20 else "dp",
                location="airspace",
                study=f"s{number:08d}",
            ),
        )
    ]
    learned = counted_estimator([run(with_it).rows], dictionary())
    assert estimate("opacity", said("consolidation"), of=learned) == pytest.approx(
        (9 + 10) / (10 + 30)
    )
    without = [said("opacity", "dp", study=f"s{number:08d}") for number in range(10)]
    leaky = counted_estimator([run(without).rows], dictionary())
    assert leaky.leaks["opacity", True] == pytest.approx((1 + 10) / (10 + 10))
    assert learned.leaks["opacity", True] == pytest.approx(0.1)
    assert learned.priors["opacity", True] == pytest.approx((1 + 10) / (10 + 30))


def test_a_study_counts_once_for_a_sign_and_as_both_where_it_says_both() -> None:
    rows = [
        said("opacity", location="left"),
        said("opacity", "dn", location="right"),
        said("opacity"),
    ]
    found = sign_counts(
        run(rows).rows, dictionary(), load_label_list(dictionary=dictionary())
    )
    assert {key: count for key, count in found.items() if key[0] == "opacity"} == {
        ("opacity", ALONE, "both"): 1,
        ("opacity", ANYWHERE, "both"): 1,
    }
