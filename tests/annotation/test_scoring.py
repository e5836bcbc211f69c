"""The score as it is called: texts, rewards, ratings of a file, and its own file."""

from __future__ import annotations

import importlib.util
import math
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

import lunguage_assets
from lunguage_assets.annotation import scoring
from lunguage_assets.annotation.claims import measured_size
from lunguage_assets.annotation.significance import packaged_significance
from lunguage_assets.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
LADDERS = ROOT / "tests" / "fixtures" / "score_ladders.csv"
PAGE = (ROOT / "docs" / "score.md").read_text(encoding="utf-8")
REFERENCE = "Left lower lobe pneumonia. No effusion."
GENERATED = [
    "Left lower lobe pneumonia.",
    "The lungs are clear.",
    "Possible left lower lobe pneumonia.",
]


@cache
def expected() -> list[float]:
    return lunguage_assets.rewards([REFERENCE] * 3, GENERATED)


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    file = ROOT / "benchmarks" / "score.py"
    spec = importlib.util.spec_from_file_location("score_benchmark", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.lengthy
def test_the_tables_of_the_page_are_what_the_script_prints(
    benchmark: ModuleType,
) -> None:
    changes = benchmark.table(12)
    assert benchmark.markdown(changes) in PAGE
    assert benchmark.behaviours(LADDERS) in PAGE
    for name, rows in changes.groupby("change"):
        values = rows.sort_values("of")["findings"].tolist()
        if name == "paraphrased":
            assert values == pytest.approx([1.0] * 3, abs=1e-4)
        else:
            assert 1.0 > values[0] > values[1] > values[2], name


def test_the_examples_of_the_page_run() -> None:
    names: dict[str, Any] = {}
    for section in PAGE.split("```python\n")[1:]:
        exec(section.split("```")[0], names)
    references = names["references"]
    rewards = lunguage_assets.rewards(references, names["generated"])
    assert names["rewarded"] == rewards
    thoughts = [f"<think>A mass?</think>{report}" for report in names["generated"]]
    assert names["lunguage"](thoughts, references, step=1) == rewards
    assert names["value"] == {"lunguage": rewards}


def test_doubt_costs_the_square_of_the_distance_of_the_probabilities() -> None:
    hedged = "FINDINGS: Possible pneumonia."
    p = lunguage_assets.read(hedged).findings["prob"].iloc[0]
    scores = lunguage_assets.score(["FINDINGS: There is pneumonia."], [hedged]).studies
    significance = packaged_significance()
    weight = significance.weight(significance.finding("pneumonia"), None)
    expected = weight * (1.0 - p) ** 2 / (significance.agreement + weight)
    assert scores["certainty"].tolist() == pytest.approx([expected])


def test_without_a_readable_reference_there_is_no_score() -> None:
    scores = lunguage_assets.score(
        ["", "lorem ipsum", REFERENCE, REFERENCE], ["", REFERENCE, "dolor", None]
    )
    assert scores.studies["findings"].isna().tolist() == [True, True, False, False]
    assert scores.studies["findings"].tolist()[2:] == [0.0, 0.0]
    reasons = ["nothing was read in the reference"] * 2 + [""] * 2
    assert scores.studies["reason"].tolist() == reasons
    assert scores.corpus.loc["findings", "value"] == 0.0


def test_equal_texts_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    method = scoring.bundled_method()
    batch_sizes = []
    stated = type(method).stated
    monkeypatch.setattr(
        type(method),
        "stated",
        lambda self, texts: (batch_sizes.append(len(texts)), stated(self, texts))[1],
    )
    text = "FINDINGS: Minimal scarring in the lingula."
    lunguage_assets.rewards([text] * 5, [text] * 5)
    assert batch_sizes == [1]


def test_the_corpus_has_the_mean_of_its_studies_within_a_bootstrap_interval() -> None:
    scores = lunguage_assets.score([REFERENCE] * 15, GENERATED * 5)
    value, low, high = scores.corpus.loc["findings"]
    findings = scores.studies["findings"]
    assert value == pytest.approx(findings.mean())
    error = findings.std(ddof=0) / math.sqrt(15)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_one_pair_has_no_interval() -> None:
    corpus = lunguage_assets.score([REFERENCE], GENERATED[:1]).corpus
    assert corpus[["low", "high"]].isna().all(axis=None)


def test_what_is_no_pair_is_refused() -> None:
    with pytest.raises(InputError, match="2 references and 1 generated"):
        lunguage_assets.score([REFERENCE] * 2, [REFERENCE])
    with pytest.raises(
        InputError, match="row 0, column 'generated': found the type int"
    ):
        lunguage_assets.score([REFERENCE], [7])  # type: ignore[list-item]


def test_the_benchmark_prints_tau_with_an_interval(
    benchmark: ModuleType, tmp_path: Path
) -> None:
    file = tmp_path / "rated.csv"
    rows = {
        "reference": [REFERENCE] * 3 + ["Rib fracture."] * 2,
        "gen": [*GENERATED, "Rib fracture.", "Clear lungs."],
        "errors": [0, 2, 1, 0, 2],
    }
    pd.DataFrame(rows).to_csv(file, index=False)
    rated = benchmark.read_rated(file, "reference", "gen", "errors")
    findings = benchmark.agreement(rated, lower_is_better=True).iloc[0]
    assert findings["low"] <= findings["tau"] <= findings["high"]
    assert findings["tau"] > 0.8
    with pytest.raises(InputError, match=r"no column \['candidate'\]"):
        benchmark.read_rated(file, "reference", "candidate", "errors")
    with pytest.raises(InputError, match="row 1, column 'gen': found no number"):
        benchmark.read_rated(file, "reference", "gen", "gen")


def test_findings_of_the_file_are_kinds_of_findings_of_the_file() -> None:
    findings = packaged_significance().findings
    of_others = [
        name for one in findings.values() for name in (*one.kind_of, *one.near)
    ]
    assert set(of_others) <= findings.keys()


def test_the_weights_of_the_page_are_those_of_the_file() -> None:
    levels = packaged_significance().levels
    missing = [
        level
        for level, value in levels.items()
        if f"| {level} | {value:g} |" not in PAGE
    ]
    assert missing == []


def test_kinship_is_mutual_and_a_step_up_loses_less_than_two() -> None:
    share = packaged_significance().name_share
    assert share("opacity", "pneumonia") == share("pneumonia", "opacity")
    one_step = share("consolidation", "opacity")
    siblings = share("mass", "consolidation")
    assert 0.0 < one_step < share("pneumonia", "opacity") == siblings
    assert siblings < share("pneumothorax", "fracture") == 1.0


def test_a_measured_size_is_its_largest_dimension_in_doublings() -> None:
    millimetres = {
        "6 mm": 6.0,
        "0.6 cm": 6.0,
        "2.1 x 1.4 cm": 21.0,
        "2.3 cm, 1.8 cm": 23.0,
        "multiple, 12 mm": 12.0,
    }
    read = {cell: 2.0 ** (measured_size(cell) or 0.0) for cell in millimetres}
    assert read == pytest.approx(millimetres)
    assert [measured_size(cell) for cell in ("small", "0 mm", "cm")] == [None] * 3
