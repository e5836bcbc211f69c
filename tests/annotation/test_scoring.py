"""A score of generated reports in which doubt counts: what costs how much, and what
costs nothing.
"""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import lunguage_assets
from lunguage_assets.annotation import scoring
from lunguage_assets.annotation.annotation import Annotation
from lunguage_assets.annotation.scoring import PARTS, divergence
from lunguage_assets.annotation.significance import packaged_significance
from lunguage_assets.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = (
    "FINDINGS: There is a left pleural effusion. No pneumothorax. "
    "The heart is enlarged. Possible pneumonia."
)


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "score_benchmark", ROOT / "benchmarks" / "score.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    __import__("sys").modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def behaviour(benchmark: ModuleType) -> pd.DataFrame:
    table: pd.DataFrame = benchmark.table(40)
    return table


def findings(reference: str, generated: str) -> dict[str, float]:
    (row,) = lunguage_assets.score([reference], [generated]).studies.to_dict("records")
    return {str(name): float(value) for name, value in row.items()}


def test_the_table_of_the_page_is_what_the_script_prints(
    benchmark: ModuleType, behaviour: pd.DataFrame
) -> None:
    assert benchmark.markdown(behaviour) in (ROOT / "docs" / "score.md").read_text(
        encoding="utf-8"
    )


def test_the_example_of_the_page_runs() -> None:
    page = (ROOT / "docs" / "score.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    exec(page.split("```python\n")[1].split("```")[0], names)
    assert lunguage_assets.rewards(names["references"], names["generated"]) < [1.0]  # type: ignore[arg-type]


def test_the_score_falls_with_the_size_of_every_change_but_a_paraphrase(
    behaviour: pd.DataFrame,
) -> None:
    for name, rows in behaviour.groupby("change"):
        for measure in ("findings", "findings_log"):
            values = rows.sort_values("of")[measure].tolist()
            if name == "paraphrased":
                assert values == pytest.approx([1.0] * 3, abs=1e-4)
            else:
                assert 1.0 > values[0] > values[1] > values[2], (name, measure)


def test_more_doubt_costs_more_and_negation_more_than_either(
    behaviour: pd.DataFrame,
) -> None:
    by = behaviour[behaviour["of"] == 1].set_index("change")["findings"]
    assert (
        by["doubt added: probable"]
        > by["doubt added: possible"]
        > by["finding dropped"]
        > by["negated"]
    )


def test_the_ladders_of_the_page_are_what_the_script_prints(
    benchmark: ModuleType,
) -> None:
    page = (ROOT / "docs" / "score.md").read_text(encoding="utf-8")
    assert (
        benchmark.behaviours(ROOT / "tests" / "fixtures" / "score_ladders.csv") in page
    )


def test_doubt_costs_the_square_of_the_distance_of_the_probabilities() -> None:
    sure = "FINDINGS: There is pneumonia."
    hedged = "FINDINGS: Possible pneumonia."
    p = lunguage_assets.read(hedged).findings["prob"].iloc[0]
    scores = findings(sure, hedged)
    # Nothing else is lost, so that what is lost is the share of the pair.
    assert scores["certainty"] == pytest.approx(1.0 - scores["findings"])
    significance = packaged_significance()
    weight = significance.weight("pneumonia", "CF", "pneumonia", None)
    total_weight = significance.agreement + weight
    assert scores["certainty"] == pytest.approx(weight * (1.0 - p) ** 2 / total_weight)
    assert 1.0 - scores["findings_log"] == pytest.approx(
        weight * divergence(1.0, p) / total_weight
    )


@pytest.mark.parametrize("wording", ["Probable", "Possible", "There is", "No"])
def test_of_all_p_that_a_report_can_state_its_own_scores_best(wording: str) -> None:
    reference = f"FINDINGS: {wording} pneumonia."
    other_wordings = {"Probable", "Possible", "There is", "No"} - {wording}
    own_score = findings(reference, reference)["findings"]
    assert own_score == 1.0
    assert all(
        findings(reference, f"FINDINGS: {other_wording} pneumonia.")["findings"]
        < own_score
        for other_wording in other_wordings
    )


def test_what_is_lost_is_split_into_parts_without_remainder() -> None:
    generated = (
        "FINDINGS: No pleural effusion. Probable pneumonia. "
        "Rib fracture. No pneumothorax."
    )
    scores = findings(REFERENCE, generated)
    assert sum(scores[column] for column in PARTS) == pytest.approx(
        1.0 - scores["findings"]
    )
    lost = {column for column in PARTS if scores[column] > 0.0}
    assert lost == {"presence", "certainty", "omission", "invention"}


@pytest.mark.parametrize(
    ("generated", "column"),
    [
        ("Large right pleural effusion.", "place"),
        ("Small left pleural effusion.", "description"),
        ("Large left pleural effusion, decreased.", "description"),
        ("Possible large left pleural effusion.", "certainty"),
        ("No pleural effusion.", "presence"),
        ("The heart is normal.", "omission"),
        ("Large left pleural effusion. Left rib fracture.", "invention"),
    ],
)
def test_every_kind_of_error_has_its_own_column(generated: str, column: str) -> None:
    scores = findings("Large left pleural effusion.", generated)
    assert [name for name in PARTS if scores[name] > 0.0] == [column]


def test_a_more_general_name_is_lost_in_its_own_column() -> None:
    scores = findings(
        "Consolidation in the right middle lobe.", "Opacity in the right middle lobe."
    )
    assert [name for name in PARTS if scores[name] > 0.0] == ["name"]


def test_rewards_are_floats_in_the_order_of_the_pairs() -> None:
    rewards = lunguage_assets.rewards(
        [REFERENCE] * 2, [REFERENCE, "FINDINGS: No pneumothorax."]
    )
    assert all(type(reward) is float for reward in rewards)
    assert rewards[0] == 1.0
    scores = findings(REFERENCE, "FINDINGS: No pneumothorax.")
    assert rewards[1] == scores["findings"] < 0.6


def test_a_label_f1_hears_neither_doubt_nor_place(behaviour: pd.DataFrame) -> None:
    deaf = behaviour["change"].str.contains("doubt") | (
        behaviour["change"] == "place changed"
    )
    assert (behaviour.loc[deaf, "label F1"] == 1.0).all()


@pytest.mark.parametrize(("p", "q"), [(0.2, 0.7), (1.0, 0.5), (0.9, 0.0), (0.3, 0.3)])
def test_the_logarithmic_cost_is_what_an_honest_forecast_would_have_saved(
    p: float, q: float
) -> None:
    a, b = np.clip([p, q], 0.01, 0.99)
    scores = [
        a * math.log(forecast) + (1 - a) * math.log(1 - forecast) for forecast in (a, b)
    ]
    assert divergence(p, q) == pytest.approx(
        (scores[0] - scores[1]) / (0.98 * math.log(99))
    )
    assert divergence(1.0, 0.0) == pytest.approx(1.0)


def test_two_empty_reports_agree_and_one_alone_does_not() -> None:
    assert lunguage_assets.rewards(["", REFERENCE, ""], ["", "", REFERENCE]) == [
        1.0,
        0.0,
        0.0,
    ]


def test_labels_are_those_that_read_gives() -> None:
    claims = scoring._read_texts("texts", [REFERENCE])[0].labels
    annotation: Annotation = lunguage_assets.read(REFERENCE)
    stated_labels = annotation.labels[
        annotation.labels["source"].isin(["stated", "denied"])
    ]
    assert sorted(claim.p for claim in claims) == sorted(stated_labels["p"])


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
    lunguage_assets.rewards([text], [text])
    assert batch_sizes == [1]


def test_the_corpus_has_the_mean_of_its_studies_within_a_bootstrap_interval() -> None:
    generated = [
        REFERENCE,
        REFERENCE.replace("left", "right"),
        "FINDINGS: No pneumothorax.",
    ] * 5
    result = lunguage_assets.score([REFERENCE] * 15, generated)
    assert result.corpus.loc["findings", "value"] == pytest.approx(
        result.studies["findings"].mean()
    )
    low, high = result.corpus.loc["findings", ["low", "high"]]
    error = result.studies["findings"].std(ddof=0) / math.sqrt(15)
    assert result.corpus.loc["findings", "value"] - low == pytest.approx(
        1.96 * error, rel=0.15
    )
    assert high - result.corpus.loc["findings", "value"] == pytest.approx(
        1.96 * error, rel=0.15
    )


def test_what_is_no_pair_is_refused() -> None:
    with pytest.raises(InputError, match="2 references and 1 generated"):
        lunguage_assets.score([REFERENCE] * 2, [REFERENCE])
    with pytest.raises(InputError, match="generated, row 0: found a int"):
        lunguage_assets.score([REFERENCE], [7])  # type: ignore[list-item]
    with pytest.raises(
        InputError, match="references: found a str; expected a list of texts"
    ):
        lunguage_assets.score(REFERENCE, [REFERENCE])
    with pytest.raises(
        InputError, match="generated: found a NoneType; expected a list of texts"
    ):
        lunguage_assets.rewards([REFERENCE], None)  # type: ignore[arg-type]
