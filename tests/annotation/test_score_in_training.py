"""The score as trainers and RadEval call it, and its agreement with ratings of a
file.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import lunguage_assets
from lunguage_assets.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = "Left lower lobe pneumonia. No effusion."
GENERATED = [
    "Left lower lobe pneumonia.",
    "The lungs are clear.",
    "Possible left lower lobe pneumonia.",
]
EXPECTED = lunguage_assets.rewards([REFERENCE] * 3, GENERATED)


def test_completions_as_text_are_rewarded() -> None:
    columns = {
        "prompts": ["Describe."] * 3,
        "completion_ids": [[1]] * 3,
        "trainer_state": object(),
    }
    rewarded = lunguage_assets.reward_function(
        completions=GENERATED, reference=[REFERENCE] * 3, **columns
    )
    assert rewarded == EXPECTED
    assert all(type(value) is float for value in rewarded)


def test_completions_as_chat_messages_are_rewarded() -> None:
    messages = [[{"role": "assistant", "content": report}] for report in GENERATED]
    assert (
        lunguage_assets.reward_function(messages, ground_truth=[REFERENCE] * 3)
        == EXPECTED
    )


def test_content_in_parts_is_read_as_one() -> None:
    messages = [
        [{"role": "assistant", "content": [{"type": "text", "text": report}]}]
        for report in GENERATED
    ]
    assert (
        lunguage_assets.reward_function(messages, solution=[REFERENCE] * 3) == EXPECTED
    )


def test_thoughts_before_a_report_are_not_read() -> None:
    thinking = [
        f"<think>A pneumothorax? A fracture?</think>{report}" for report in GENERATED
    ]
    assert (
        lunguage_assets.reward_function(thinking, reference=[REFERENCE] * 3) == EXPECTED
    )


def test_a_completion_without_text_is_a_report_that_says_nothing() -> None:
    rewarded = lunguage_assets.reward_function(
        [[], None, ""], reference=[REFERENCE] * 3
    )
    assert rewarded == [0.0, 0.0, 0.0]


def test_a_column_of_another_name_can_be_named() -> None:
    reward = lunguage_assets.reward_function_of("impression")
    assert (
        reward(GENERATED, impression=[REFERENCE] * 3, reference=["Mass."] * 3)
        == EXPECTED
    )
    assert reward.__name__ == "lunguage_impression"


def test_a_data_set_without_references_is_refused_with_its_columns() -> None:
    with pytest.raises(
        InputError, match=r"\['impression'\]; expected one of reference"
    ):
        lunguage_assets.reward_function(GENERATED, impression=[REFERENCE] * 3)


def test_the_metric_of_radeval_gives_the_mean() -> None:
    metric = lunguage_assets.RadEvalMetric()
    value = metric.compute(refs=[REFERENCE] * 3, hyps=GENERATED)
    assert value == {"lunguage": round(sum(EXPECTED) / 3, 4)}
    assert list(value) == metric.metric_keys()


def test_the_metric_of_radeval_gives_every_report() -> None:
    metric = lunguage_assets.RadEvalMetric()
    reports_done: list[int] = []
    value = metric.compute(
        [REFERENCE] * 3,
        GENERATED,
        per_sample=True,
        on_progress=lambda: reports_done.append(1),
    )
    assert value == {"lunguage": EXPECTED}
    assert len(reports_done) == 3


def test_the_metric_of_radeval_gives_its_details() -> None:
    metric = lunguage_assets.RadEvalMetric()
    value = metric.compute([REFERENCE] * 3, GENERATED, detailed=True)
    assert list(value) == metric.metric_keys(detailed=True)
    assert value["lunguage_omission"] > 0.0


def test_the_examples_of_the_page_run() -> None:
    page = (ROOT / "docs" / "score.md").read_text(encoding="utf-8")
    examples = [section.split("```")[0] for section in page.split("```python\n")[1:]]
    names: dict[str, object] = {}
    for example in examples:
        exec(example, names)
    assert len(examples) == 3
    assert names["rewarded"] == lunguage_assets.rewards(
        names["references"], names["generated"]
    )  # type: ignore[arg-type]
    assert names["value"] == {"lunguage": round(names["rewarded"][0], 4)}  # type: ignore[index]


def benchmark(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "score.py"),
        *map(str, arguments),
    ]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, check=False
    )


def test_the_benchmark_prints_tau_with_an_interval(tmp_path: Path) -> None:
    file = tmp_path / "rated.csv"
    rows = {
        "ref": [REFERENCE] * 3 + ["Rib fracture."] * 2,
        "gen": [*GENERATED, "Rib fracture.", "Clear lungs."],
    }
    pd.DataFrame(rows).assign(errors=[0, 2, 1, 0, 2]).to_csv(file, index=False)
    columns = (
        "--reference",
        "ref",
        "--candidate",
        "gen",
        "--rating",
        "errors",
        "--lower-is-better",
    )
    done = benchmark(file, *columns)
    assert done.returncode == 0, done.stderr
    first, header, findings = done.stdout.splitlines()[:3]
    assert first == "5 pairs of 2 references"
    assert header.split() == ["measure", "tau", "low", "high"]
    name, tau, low, high = findings.split()
    assert name == "findings"
    assert float(low) <= float(tau) <= float(high)
    assert float(tau) > 0.8


def test_the_benchmark_names_a_missing_column(tmp_path: Path) -> None:
    file = tmp_path / "rated.csv"
    pd.DataFrame({"reference": ["a"], "rating": [1]}).to_csv(file, index=False)
    done = benchmark(file)
    assert done.returncode == 1
    assert (
        "rated.csv: found columns ['reference', 'rating']; expected a column "
        "'candidate'"
    ) in done.stderr


def test_the_benchmark_names_a_rating_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "rated.csv"
    rows = {"reference": ["a", "b"], "candidate": ["a", "b"], "rating": ["5", "good"]}
    pd.DataFrame(rows).to_csv(file, index=False)
    done = benchmark(file)
    assert done.returncode == 1
    assert "rated.csv, row 2, column 'rating': found no number" in done.stderr
