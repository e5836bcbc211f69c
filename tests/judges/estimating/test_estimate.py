"""`lunguage estimate` says beforehand what a run asks: calls, tokens, dollars, minutes; and what the paper's
own run cost.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from click.testing import CliRunner
from commanded import lunguage
from loopback import Call, LoopbackServer

from lunguage_assets.cli.main import commands
from lunguage_assets.errors import CorpusMismatch, LunguageError
from lunguage_assets.judges.asking.budget import estimated_input_tokens, expected_tokens, letters
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.judges.estimating.estimate import (
    Asked,
    expected_reasoning,
    line,
    stage_minutes,
)
from lunguage_assets.judges.estimating.rehearsal import ERROR_RATE, RehearsalJudge, Tally
from lunguage_assets.judges.ledger.reading import Experience
from lunguage_assets.judges.prompts import load_prompts
from lunguage_assets.judges.protocol import (
    ComparisonAnswer,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
    ask_to_compare,
    ask_to_extract,
)
from lunguage_assets.judges.slots import ModelSlot, Price
from lunguage_assets.sample import write_sample

SETTINGS = (
    "[explicit]\nminimum_examples = 1\nruler_minimum = 2\nrepetitions = 2\npanel_steps = 3\n"
    "patience = 4\nstep_limit = 15\n"
)
RATINGS = "rater,phrase,sentence,rating\n" + "".join(
    f"r{n},likely,s,{80 + n}\nr{n},versus,s,{20 + n}\n" for n in range(3)
)
JUDGE = """
[judges.{key}]
provider = "openai-compatible"
model = "{key}-model"
base_url = "{url}"
params = {{ max_tokens = 100 }}
limits = {{ in_flight = 1 }}
{price}
"""
PRICE = "price = { input = 1.0, output = 2.0, as_of = 2026-11-01 }"
PANEL = """
preset = "loopback"
[panels.both]
members = ["one", "two"]
[presets.loopback]
panel = "both"
extractor = "one"
"""
COMPARED = re.compile(r"^sentence_1: (.*)\nsentence_2: (.*)$", re.MULTILINE)
EXTRACTED = re.compile(r"^finding: (.*)\nsentence: (.*)$", re.MULTILINE)


class Script:
    """The answers that a rehearsal made up, for the server to give: the n-th time that a prompt comes, its
    n-th answer.
    """

    def __init__(self) -> None:
        self._answers: defaultdict[tuple[str, str, str], deque[str]] = defaultdict(deque)
        self._known: set[tuple[str, str, str, int]] = set()

    def note(self, judge: str, first: str, second: str, replicate: int, answer: str) -> None:
        question = (judge, _line(first), _line(second), replicate)
        if question not in self._known:
            self._known.add(question)
            self._answers[question[:3]].append(answer)

    def __call__(self, call: Call) -> str:
        shown = COMPARED.findall(call.user) or EXTRACTED.findall(call.user)
        return self._answers[call.model.removesuffix("-model"), *shown[-1]].popleft()


def noted_by(script: Script) -> type[RehearsalJudge]:
    class Noting(RehearsalJudge):
        def extract(
            self, questions: Sequence[ExtractionQuestion], *, may_wait: bool = False
        ) -> list[ExtractionAnswer]:
            answers = super().extract(questions, may_wait=may_wait)
            for q, said in zip(questions, answers, strict=True):
                script.note(self.key, q.finding, q.sentence, 0, json.dumps(said.phrases))
            return answers

        def compare(
            self, questions: Sequence[ComparisonQuestion], *, may_wait: bool = False
        ) -> list[ComparisonAnswer]:
            answers = super().compare(questions, may_wait=may_wait)
            for q, said in zip(questions, answers, strict=True):
                script.note(self.key, q.sentence_1, q.sentence_2, q.replicate, said.answer)
            return answers

    return Noting


def _line(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def delivery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("delivered") / "ten"
    write_sample(folder, reports=10, seed=3)
    return folder


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    script = Script()
    monkeypatch.setattr("lunguage_assets.orchestration.rehearsed_home.RehearsalJudge", noted_by(script))
    with LoopbackServer(answer=script) as running:
        yield running


def judges_file(url: str, price: str = PRICE) -> str:
    return PANEL + "".join(JUDGE.format(key=key, url=url, price=price) for key in ("one", "two"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home whose judges are nowhere."""
    write_home(tmp_path / "home", "http://127.0.0.1:9/v1", monkeypatch)
    return tmp_path / "home"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, delivery: Path) -> dict[str, Any]:
    """The estimate of the delivery, for tests that look at it."""
    folder = tmp_path_factory.mktemp("estimated")
    with pytest.MonkeyPatch.context() as patch:
        write_home(folder / "home", "http://127.0.0.1:9/v1", patch)
        return estimate(delivery, folder)


def write_home(folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    (folder / "settings.toml").write_text(SETTINGS)
    (folder / "anchor_ratings.csv").write_text(RATINGS)
    (folder / "judges.toml").write_text(judges_file(url))
    for name in [name for name in os.environ if name.startswith(("LUNGUAGE", "DAGSTER"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LUNGUAGE_HOME", str(folder))
    monkeypatch.setenv("LUNGUAGE_JUDGES", str(folder / "judges.toml"))


def estimate(delivery: Path, scratch: Path, *options: str, batch: str = "b") -> dict[str, Any]:
    file = scratch / "estimate.json"
    command = ["estimate", "--data", str(delivery), "--batch", batch, "--json", str(file), *options]
    CliRunner().invoke(commands, command, catch_exceptions=False, standalone_mode=False)
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def calls(found: dict[str, Any]) -> dict[tuple[str, str], int]:
    return {(one["stage"], one["judge"]): one["calls"] for one in found["lines"]}


def contents(folder: Path) -> dict[str, bytes | None]:
    """Files and folders; of SQLite's -shm file, in which readers leave marks, only that it is there."""
    found = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*"))}
    return {
        name: path.read_bytes() if path.is_file() and path.suffix != ".sqlite-shm" else None
        for name, path in found.items()
    }


def asked_by_run(home: Path) -> dict[tuple[str, str], int]:
    """Calls by table and judge, as the run's own accounts have them."""
    found: Counter[tuple[str, str]] = Counter()
    with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
        for table in ("hedge_phrases", "comparison_matches", "fitted_probabilities"):
            for record in instance.fetch_materializations(dg.AssetKey(table), limit=100).records:
                assert record.asset_materialization is not None
                shown = record.asset_materialization.metadata["llm_by_judge"].value.splitlines()[2:]
                for row in shown:
                    judge, _, _, made, *_ = (cell.strip() for cell in row.strip("|").split("|"))
                    found[table, judge] += int(made)
    return dict(found)


def test_a_run_asks_what_was_estimated_what_a_stopped_one_has_paid_is_deducted_and_then_nothing_is_left(
    home: Path, delivery: Path, server: LoopbackServer, tmp_path: Path
) -> None:
    (home / "judges.toml").write_text(judges_file(server.openai_url))

    def estimated() -> dict[str, Any]:
        before, sent = contents(home), len(server.arrivals)
        there = estimate(delivery, tmp_path)
        assert contents(home) == before, "an estimate changes nothing on disk"
        assert len(server.arrivals) == sent, "and sends nothing"
        return there

    first = estimated()
    expected = calls(first)
    run = ("run", "--data", str(delivery), "--batch", "b")
    stopped = lunguage(home, *run, "--budget", f"{0.7 * first['total']['usd']:.4f}")
    assert "budget" in str(stopped)
    answered = server.answered
    rest = estimated()
    left = calls(rest)
    assert ("hedge_phrases", "one") not in left, "its phrases are stored"
    assert ("comparison_matches", "one") not in left, "the ranking was made, and a run would keep it"
    assert sum(left.values()) == sum(expected.values()) - answered > 0
    fits = [one for one in rest["lines"] if one["stage"] == "fitted_probabilities"]
    assert all(one["hits"] > 0 and one["basis"] == "ledger" for one in fits)

    assert lunguage(home, *run) is None
    assert asked_by_run(home) == {**expected, **left}
    assert len(server.calls) == first["total"]["calls"]

    last = estimated()
    assert last["total"]["calls"] == 0
    assert last["total"]["usd"] == last["total"]["usd_at_most"] == last["total"]["minutes"] == 0
    assert last["pairs"] == 0, "everything is current: a run would make nothing"


def test_an_estimate_needs_no_home_no_key_no_sdk(delivery: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from lunguage_assets.cli.main import commands\n"
        f"commands(['estimate', '--data', {str(delivery)!r}, '--preset', 'models-2025', '--json', "
        "'e.json'], standalone_mode=False)\n"
        "assert not {'openai', 'anthropic', 'google.genai', 'transformers', 'torch'} & set(sys.modules)"
    )
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LUNGUAGE", "DAGSTER")) and "KEY" not in name
    }
    variables = {**kept, "LUNGUAGE_HOME": str(tmp_path / "none")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=variables,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.json"]
    found = json.loads((tmp_path / "e.json").read_text())
    assert found["total"]["usd"] > 0
    assert {price["as_of"] for price in found["prices"]} == {"2025-11-01"}
    assert any("would be refused" in remark and "claude-sonnet-4" in remark for remark in found["remarks"]), (
        "it is retired"
    )
    assert "as of 2025-11-01" in done.stdout


def test_the_offline_preset_costs_nothing_and_says_so(
    delivery: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LUNGUAGE_JUDGES")
    found = estimate(delivery, tmp_path, "--preset", "offline")
    assert found["lines"] == []
    assert found["total"]["usd"] == found["total"]["calls"] == 0
    assert "It costs nothing." in " ".join(found["remarks"])


def test_a_delivery_of_several_batches_is_estimated_as_one_and_structurers_without_room_are_named(
    home: Path, tmp_path: Path
) -> None:
    (home / "settings.toml").write_text(SETTINGS + "[corpus]\nbatch_reports = 1\n")
    (tmp_path / "raw").mkdir()
    report = "FINDINGS: The heart is large. There may be a small effusion. No edema, nodule or fracture."
    rows = "".join(f"{number},{report}\n" for number in (50000001, 50000002)).replace(",FIND", ',"FIND')
    (tmp_path / "raw" / "reports.csv").write_text("study_id,report\n" + rows.replace(".\n", '."\n'))
    found = estimate(tmp_path / "raw", tmp_path, "--structurer", "one")
    assert found["batches"] == ["b-001", "b-002"]
    assert (found["reports"], found["pairs"], found["sentences"]) == (2, 2, 1)
    assert sum("may answer with 100 tokens at most" in remark for remark in found["remarks"]) == 1


def test_a_judge_without_a_price_has_tokens_but_no_dollars(
    home: Path, delivery: Path, tmp_path: Path
) -> None:
    (home / "judges.toml").write_text(judges_file("http://127.0.0.1:9/v1", price=""))
    found = estimate(delivery, tmp_path)
    assert found["total"]["judges_without_price"] == ["one", "two"]
    assert found["total"]["usd"] == 0
    assert found["total"]["usd_at_most"] is None
    assert all(one["usd"] is None and one["input_tokens"] > 0 for one in found["lines"])
    assert sum("has no price" in remark for remark in found["remarks"]) == 2


def test_the_most_it_can_cost_is_more_than_what_is_expected(found: dict[str, Any]) -> None:
    assert all(one["usd_at_most"] > 5 * one["usd"] > 0 for one in found["lines"])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--preset", "nobody"], "preset 'nobody'"),
        (["--ranker", "three"], "ranker 'three'"),
        (["--batch", "Ü"], "batch key"),
        (["--data-class", "credentialed"], "declares data class 'synthetic'"),
    ],
)
def test_what_would_stop_a_run_at_once_stops_the_estimate(
    home: Path, delivery: Path, tmp_path: Path, options: list[str], expected: str
) -> None:
    with pytest.raises(LunguageError, match=expected):
        estimate(delivery, tmp_path, *options)


def test_a_folder_without_findings_is_named(home: Path, tmp_path: Path) -> None:
    with pytest.raises(LunguageError, match=r"Lunguage\.csv"):
        estimate(home, tmp_path)


def test_a_home_of_another_corpus_is_refused_as_a_run_would_be(
    home: Path, delivery: Path, tmp_path: Path
) -> None:
    (home / "corpus.json").write_text(json.dumps({"name": "another", "data_class": "synthetic"}))
    with pytest.raises(CorpusMismatch, match="another"):
        estimate(delivery, tmp_path)


def test_it_says_when_a_judge_may_not_receive_the_text(home: Path, delivery: Path, tmp_path: Path) -> None:
    text = (home / "judges.toml").read_text().replace('provider = "openai-compatible"', 'provider = "openai"')
    (home / "judges.toml").write_text(text)
    undeclared = tmp_path / "undeclared"
    shutil.copytree(delivery, undeclared)
    (undeclared / "corpus.toml").unlink()
    assert (
        sum(
            "may not receive credentialed text" in remark
            for remark in estimate(undeclared, tmp_path)["remarks"]
        )
        == 2
    )


def test_made_up_judges_agree_as_the_published_ones_do_and_do_not_depend_on_order() -> None:
    slot = ModelSlot(provider="openai-compatible", model="any", base_url="http://localhost/v1")
    one, two = (RehearsalJudge(key, slot, load_prompts()) for key in ("one", "two"))
    questions = [
        ComparisonQuestion(f"There may be <finding> {n}.", f"There is probably <finding> {n % 7}.", n % 10)
        for n in range(6000)
    ]
    said = one.compare(questions)
    agreement = sum(a == b for a, b in zip(said, two.compare(questions), strict=True)) / len(questions)
    assert agreement == pytest.approx(0.866, abs=0.015)
    assert abs(ERROR_RATE - 0.0722) < 0.0001  # (1 - e)^2 + e^2 = 0.866
    again = RehearsalJudge("one", slot, load_prompts()).compare(questions[::-1])
    assert again[::-1] == said


def test_a_question_asked_again_is_counted_once_as_it_is_paid_once() -> None:
    slot = ModelSlot(provider="openai-compatible", model="any", base_url="http://localhost/v1")
    judge = RehearsalJudge("one", slot, load_prompts())
    question = ComparisonQuestion("Perhaps <finding>.", "Surely  <finding>.")
    # white space is not in the prompt
    same = ComparisonQuestion("Perhaps <finding>.", "Surely <finding>.")
    judge.compare([question, question, same], may_wait=True)
    judge.compare([question, ComparisonQuestion("Perhaps <finding>.", "Surely <finding>.", replicate=1)])
    first, second = judge.tallies["comparison_matches"], judge.tallies["fitted_probabilities"]
    assert (first.questions, first.hits, first.open) == (1, 0, 1)
    assert (second.questions, second.hits, second.open) == (2, 1, 1)


def test_a_rehearsal_hears_from_the_question_which_stage_and_which_batchs_fit_it_is() -> None:
    slot = ModelSlot(provider="openai-compatible", model="any", base_url="http://localhost/v1")
    judge = RehearsalJudge("one", slot, load_prompts())
    ask_to_extract(judge, [ExtractionQuestion("mass", "Perhaps a mass.")], may_wait=True)
    ask_to_compare(judge, [ComparisonQuestion("a", "b", n) for n in range(10)], may_wait=True)
    for batch in ("first", "second"):
        for step in (0, 1, 4):
            ask_to_compare(judge, [ComparisonQuestion(f"{batch} {n}", "b", step) for n in range(3)])
    assert {stage: tally.rounds for stage, tally in judge.tallies.items()} == {
        "hedge_phrases": {(0, 0): 1},
        "comparison_matches": {(0, 0): 10},
        "fitted_probabilities": {(fit, step): 3 for fit in (0, 1) for step in (0, 1, 4)},
    }


def test_tokens_counted_without_writing_the_prompt_are_those_of_the_prompt() -> None:
    prompts = load_prompts()
    slot = ModelSlot(provider="openai-compatible", model="any", base_url="http://localhost/v1")
    judge = RehearsalJudge("one", slot, prompts)
    question = ComparisonQuestion("Möglich:  <finding>.", "Likely <finding> — née elsewhere.")
    judge.compare([question])
    tally, prompt = judge.tallies["fitted_probabilities"], prompts.comparison(question)
    assert tally.input_tokens == pytest.approx(expected_tokens(*letters(prompt.system + prompt.user)))
    assert tally.input_tokens_at_most == estimated_input_tokens(prompt)


def test_a_comparison_prompt_is_about_as_long_as_the_papers() -> None:
    sentences = (
        "There is a hazy opacity at the right base, which may represent <finding>.",
        "Findings are most likely due to <finding>.",
    )
    prompt = load_prompts().comparison(ComparisonQuestion(*sentences))
    assert 350 < expected_tokens(*letters(prompt.system + prompt.user)) < 550  # about 500 in the paper's logs


SLOT = {
    "provider": "openai",
    "model": "m",
    "params": {"max_tokens": 100},
    "price": {"input": 1, "output": 10, "as_of": "2026-01-01"},
}


def asked(
    stage: Any = "comparison_matches",
    tally: Tally | None = None,
    experience: Experience | None = None,
    **slot: Any,
) -> Asked:
    counted = tally or Tally(
        questions=100,
        input_tokens=40_000.0,
        input_tokens_at_most=60_000,
        output_tokens=500.0,
        rounds=Counter({(0, 0): 100}),
    )
    return Asked(stage, "j", ModelSlot.model_validate({**SLOT, **slot}), counted, experience, counted.open)


def test_minutes_follow_the_calls_in_flight_or_the_rate_whichever_is_slower() -> None:
    def minutes(**limits: Any) -> float:
        found = line(asked(limits=limits)).minutes
        assert found is not None
        return found

    second = asked().known.latency_s
    assert minutes(in_flight=10) == pytest.approx(10 * second / 60)
    assert minutes(in_flight=1) == pytest.approx(100 * second / 60)
    assert minutes(in_flight=100, requests_per_minute=10) == pytest.approx(
        9.0
    )  # ten at once, then ten a minute
    assert minutes(in_flight=100, tokens_per_minute=8_100) == pytest.approx(4.0)


def test_judges_are_asked_at_the_same_time_and_in_a_fit_every_round_waits_for_the_slowest() -> None:
    def rounds(*sizes: int) -> Tally:
        return Tally(
            questions=sum(sizes),
            input_tokens=1.0,
            output_tokens=80.0 * sum(sizes),
            rounds=Counter({(0, n): s for n, s in enumerate(sizes)}),
        )

    quick = asked("fitted_probabilities", rounds(8, 1, 1), limits={"in_flight": 8})
    slow = asked("fitted_probabilities", rounds(8, 8, 1), limits={"in_flight": 2})
    assert quick.known.latency_s == pytest.approx(2.0)
    assert 60 * stage_minutes([quick, slow]) == pytest.approx(2 * (4 + 4 + 1))
    slower = asked(limits={"in_flight": 1})
    assert stage_minutes([asked(), slower]) == stage_minutes([slower]) > stage_minutes([asked()])


def test_what_the_ledger_knows_goes_before_what_is_assumed() -> None:
    known = Experience(
        replies=50, calls=1.5, paid_calls=1.2, input_tokens=500.0, output_tokens=20.0, latency_s=3.0
    )
    found = line(asked(experience=known, limits={"in_flight": 100}))
    assert (found.basis, found.calls, found.input_tokens, found.output_tokens) == (
        "ledger",
        150,
        60_000,
        2_400,
    )
    assert found.usd == pytest.approx(1.2 * 100 * (500 * 1 + 20 * 10) / 1e6)
    assert found.minutes == pytest.approx(2 * 3.0 / 60)


@pytest.mark.parametrize(
    ("params", "tokens"),
    [
        ({"max_output_tokens": 1100, "thinking_config": {"thinking_budget": 1000}}, 100),
        ({"max_output_tokens": 1100, "thinking_config": {"thinking_budget": 0}}, 0),
        ({"max_output_tokens": 2000, "thinking_config": {"thinking_level": "LOW"}}, 200),
        ({"max_completion_tokens": 500, "reasoning_effort": "none"}, 0),
        ({"max_output_tokens": 100}, 0),
    ],
)
def test_reasoning_is_part_of_the_output_as_far_as_parameters_tell(
    params: dict[str, Any], tokens: float
) -> None:
    assert expected_reasoning(ModelSlot(provider="gemini", model="m", params=params)) == pytest.approx(tokens)


def cost_of_fits(
    pairs: int,
    steps: float,
    panel_steps: int,
    prices: Mapping[str, Price],
    prompt_tokens: float,
    answer_tokens: float,
) -> dict[str, float]:
    """US dollars per judge for fitting pairs into a ranking, in closed form (explicit.md section 5, steps 2
    and 4).

    Args:
        pairs: tentative pairs that are fitted.
        steps: of one pair on average, none below `panel_steps`.
        panel_steps: K; in so many steps all judges answer, in each later one a single judge, drawn evenly.
        prices: of the panel's judges.
        prompt_tokens, answer_tokens: of one comparison.
    """
    calls = pairs * (min(steps, panel_steps) + max(0.0, steps - panel_steps) / len(prices))
    return {
        judge: calls * price.cost(math.ceil(prompt_tokens), math.ceil(answer_tokens))
        for judge, price in prices.items()
    }


PUBLISHED_USD = {"gemini-2.5-flash": 5.59, "gpt-4o": 39.49, "claude-sonnet-4": 45.12}
PROMPT_TOKENS, ANSWER_TOKENS = 500, 5
"""A comparison prompt of the paper is about 500 tokens; the label alone is taken as five
(`rehearsal.ANSWER_LETTERS_PER_TOKEN`).
"""


def test_the_papers_cost_follows_from_its_steps_and_prices() -> None:
    configuration = load_judges(preset="models-2025")
    prices = {key: configuration.models[key].price for key in configuration.panel_members}
    found = cost_of_fits(
        2066, 24.61, 10, {key: price for key, price in prices.items() if price}, PROMPT_TOKENS, ANSWER_TOKENS
    )
    assert len(found) == 4
    total = sum(found.values())
    assert total / 2066 == pytest.approx(0.045, rel=0.10)
    assert total == pytest.approx(92.16, rel=0.10)
    assert found["gpt-4o"] == pytest.approx(PUBLISHED_USD["gpt-4o"], rel=0.10)
    assert found["claude-sonnet-4"] == pytest.approx(PUBLISHED_USD["claude-sonnet-4"], rel=0.10)
    assert found["gemini-2.5-flash"] == pytest.approx(
        PUBLISHED_USD["gemini-2.5-flash"], rel=0.20
    )  # its answers were longer than a label
    assert found["medgemma-27b"] == 0


def test_a_rehearsals_count_is_the_closed_form_of_its_own_mean_of_steps(found: dict[str, Any]) -> None:
    price = Price(input=1.0, output=2.0, as_of=datetime.date(2026, 11, 1))
    panel_steps, tokens = 3, 1_000_000
    closed = cost_of_fits(
        found["sentences"], found["steps"], panel_steps, {"one": price, "two": price}, tokens, 0
    )
    counted = sum(one["questions"] for one in found["lines"] if one["stage"] == "fitted_probabilities")
    # two sentences that exemplify each other's opponents can ask the same question in one round: counted once
    assert sum(closed.values()) == pytest.approx(price.cost(tokens * counted, 0), rel=0.01)
