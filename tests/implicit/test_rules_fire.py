"""Every rule of merging, matching, expansion and resolution decides something: switched
off, the same report has another result.

The three rules of resolution, their order, and the care for subtrees and references are
in `test_coverage.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from invented_reports import (
    AlikeEmbedder,
    Outcome,
    StatedFinding,
    identity,
    run,
    stated,
    vocabulary,
)

from lunguage_assets.implicit.expansion import exceptions, matching, stated_signs
from lunguage_assets.implicit.merging import (
    deduplicate,
    merge_constraints,
    similar_findings,
)
from lunguage_assets.implicit.merging.merge_constraints import ExclusionTerms
from lunguage_assets.implicit.pathways import pathway_file, pathways
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    load_dictionary,
)
from lunguage_assets.implicit.rows import tokens
from lunguage_assets.implicit.statements.contradictions import Statements

Seen = Callable[[Outcome], Any]


def merged(outcome: Outcome) -> int:
    """Rows that deduplication merged."""
    return int((outcome.deduplicated["disposition"] == "merged").sum())


def reason_of(number: int) -> Seen:
    return lambda outcome: outcome.match(identity(number))["reason"]


def pathway_of(number: int) -> Seen:
    return lambda outcome: outcome.match(identity(number))["pathway_id"]


def outcome_of_child(child: str) -> Seen:
    return lambda outcome: outcome.child(identity(0) + child)["outcome"]


def one_block(study: Sequence[Any]) -> list[list[Any]]:
    """As if polarity and currency did not matter."""
    return [[row for row in study if row.disposition == "kept"]]


def single_link(size: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """As if a chain of similar rows made a group."""
    clusters = [{number} for number in range(size)]
    for a, b in pairs:
        cluster_1, cluster_2 = (
            next(group for group in clusters if number in group) for number in (a, b)
        )
        if cluster_1 is not cluster_2:
            clusters.remove(cluster_2)
            cluster_1 |= cluster_2
    return sorted(sorted(group) for group in clusters if len(group) > 1)


def without(answer: Any) -> Callable[..., Any]:
    """A rule that always says the same."""
    return lambda *_, **__: answer


RULES: list[Any] = [
    pytest.param(
        deduplicate, "blocks_of", one_block,
        [stated("opacity"), stated("opacity", "dn")], merged, 0, 1, id="polarity keeps apart",
    ),
    pytest.param(
        deduplicate, "blocks_of", one_block,
        [stated("mass"), stated("mass", past_hx="old")], merged, 0, 1, id="currency keeps apart",
    ),
    pytest.param(
        ExclusionTerms, "exclude", without(False),
        [stated("mass", location="left"), stated("mass", location="right")], merged, 0, 1, id="blacklist",
    ),
    pytest.param(
        merge_constraints, "values_differ", without(False),
        [stated("mass", measurement="5 mm"), stated("mass", measurement="8 mm")], merged, 0, 1, id="numbers",
    ),
    pytest.param(
        merge_constraints, "courses_differ", without(False),
        [stated("mass", improved="smaller"), stated("mass", worsened="larger")], merged, 0, 1, id="courses",
    ),
    pytest.param(
        similar_findings, "complete_link", single_link,
        [stated("mass", location="right"), stated("mass"), stated("mass", location="left")], merged, 1, 2,
        id="complete link",
    ),
    pytest.param(
        matching, "reason_not_expanding", without(""),
        [stated("pneumonia", "dn")], reason_of(0), "negative", "matched", id="negatives do not expand",
    ),
    pytest.param(
        matching, "reason_not_taking_part", without(""),
        [stated("pneumonia", section="hist")], reason_of(0), "history section", "past diagnosis",
        id="history takes no part",
    ),
    pytest.param(
        matching, "is_of_device", without(False),
        [stated("fracture", location="lead")], reason_of(0), "device", "matched", id="devices",
    ),
    pytest.param(
        pathways, "is_elsewhere", without(False),
        [stated("effusion", location="pericardial")], reason_of(0), "not a diagnosis", "matched",
        id="elsewhere",
    ),
    pytest.param(
        pathway_file, "read_cell", lambda cell: tuple(map(tokens, cell.split(","))),
        [stated("tuberculosis", onset="non-active")], pathway_of(0), "tuberculosis_2", "tuberculosis_1",
        id="negated words",
    ),
    pytest.param(
        stated_signs, "compatible_locations", without(True),
        [stated("consolidation", location="left"), stated("opacity", location="right")],
        outcome_of_child("/0"), "generated", "already stated", id="a sign elsewhere does not state one here",
    ),
    pytest.param(
        stated_signs, "is_near", without(False),
        [stated("consolidation"), stated("opacity", location="airspace")],
        outcome_of_child("/0"), "already stated", "generated", id="what is stated is not repeated",
    ),
    pytest.param(
        PathwayDictionary, "contradictory", without(False),
        [stated("cardiomegaly"), stated("heart size", location="cardiothoracic", measurement="normal")],
        outcome_of_child("/0"), "spoken against", "generated",
        id="a contradicting measurement speaks against",
    ),
    pytest.param(
        Statements, "against", without(None),
        [stated("atelectasis"), stated("opacity", "dn")],
        outcome_of_child("/0"), "spoken against", "generated", id="what is denied is not generated",
    ),
    pytest.param(
        exceptions, "denies_at", without(False),
        [stated("pulmonary edema"), stated("infiltrate", "dn")],
        outcome_of_child("/0"), "spoken against", "generated", id="denials of the pathway file",
    ),
    pytest.param(
        stated_signs, "defines", without(True),
        [stated("lung cancer"), stated("opacity", location="right")],
        outcome_of_child("/0"), "generated", "already stated", id="defining attributes",
    ),
    pytest.param(
        matching, "says_resolved", without(False),
        [stated("pneumonia", improved="resolved")], reason_of(0), "resolved", "matched",
        id="what has resolved does not expand",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("module", "name", "off", "rows", "seen", "on_result", "off_result"), RULES
)
def test_a_rule_that_is_switched_off_is_missed(
    monkeypatch: pytest.MonkeyPatch,
    module: object,
    name: str,
    off: object,
    rows: list[StatedFinding],
    seen: Seen,
    on_result: object,
    off_result: object,
) -> None:
    embedder = (
        AlikeEmbedder() if seen is merged else None
    )  # merging is put to the test by an encoder that finds all alike
    assert seen(run(rows, embedder=embedder)) == on_result
    monkeypatch.setattr(module, name, off)
    pathways = (
        load_dictionary(None, vocabulary()) if module is pathway_file else None
    )  # what has been read is remembered
    assert seen(run(rows, embedder=embedder, pathways=pathways)) == off_result
