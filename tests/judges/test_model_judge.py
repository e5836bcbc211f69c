"""A model behind the Judge protocol answers like any other judge, pays once, and can be used from
anywhere.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from string import Template
from typing import Any

import child_process
import pytest
from fake_model import BINDING, FakeModel, draw, reply
from loopback import TROUBLES, LoopbackServer, failing_share

from lunguage_assets.judges.asker import MANY, Asker, NothingReadable
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.model_judge import ModelJudge
from lunguage_assets.judges.prompts import Prompts, load_prompts
from lunguage_assets.judges.protocol import (
    ComparisonQuestion,
    ExtractionQuestion,
    Judge,
    ask_to_compare,
    ask_to_extract,
)
from lunguage_assets.judges.providers import provider_of
from lunguage_assets.judges.requests import Reply, Request
from lunguage_assets.judges.slots import Limits, ModelSlot

PAIRS = [
    ComparisonQuestion(f"There may be <finding> number {n}.", "There is likely <finding>.") for n in range(60)
]
SENTENCES = [
    ExtractionQuestion(
        "opacity", f"Possible opacity in invented zone {n}.", f"Possible <finding> in invented zone {n}."
    )
    for n in range(9)
]


def templates(version: str = "v1") -> Prompts:
    """Short prompts."""
    texts = {
        ("extraction", "system"): "List the hedges.",
        ("extraction", "user"): "$finding: $sentence",
        ("comparison", "system"): "Which is closer to certain?",
        ("comparison", "user"): "$sentence_1 | $sentence_2",
    }
    return Prompts(version, {place: Template(text) for place, text in texts.items()})


def invented(request: Request, occurrence: int) -> Reply:
    if request.task == "extract":
        return reply(json.dumps(["possible"]))
    return reply("sentence_1" if draw(request.prompt.user, request.replicate) < 0.5 else "sentence_2")


def made(ledger: Ledger, model: Any = None, **options: Any) -> ModelJudge:
    model = model if model is not None else FakeModel(answer=invented)
    limits = Limits(in_flight=8, backoff_s=0.001)
    prompts, mode = options.pop("prompts", templates()), options.pop("mode", "text")
    return ModelJudge(Asker("one", model, ledger, limits, **options), prompts, mode)


@pytest.fixture
def judge(ledger: Ledger) -> Iterator[ModelJudge]:
    made_one = made(ledger)
    yield made_one
    made_one.close()


def test_a_model_judge_is_a_judge(judge: ModelJudge) -> None:
    as_judge: Judge = judge
    assert isinstance(judge, Judge)
    answers = ask_to_compare(as_judge, PAIRS)
    expected = [
        "sentence_1" if draw(f"{q.sentence_1} | {q.sentence_2}", 0) < 0.5 else "sentence_2" for q in PAIRS
    ]
    assert [answer.answer for answer in answers] == expected
    assert [answer.phrases for answer in ask_to_extract(as_judge, SENTENCES)] == [("possible",)] * len(
        SENTENCES
    )


def test_a_second_judge_on_the_same_ledger_asks_nothing(ledger: Ledger, judge: ModelJudge) -> None:
    model = FakeModel()
    replay = made(ledger, model)
    first = (judge.compare(PAIRS), judge.extract(SENTENCES))
    assert (replay.compare(PAIRS), replay.extract(SENTENCES)) == first
    assert model.calls == 0
    replay.close()


def test_an_answer_that_is_no_label_is_invalid_after_five_tries_and_an_empty_list_is_valid(
    ledger: Ledger,
) -> None:
    judge = made(
        ledger, FakeModel(answer=lambda request, _: reply("both" if request.task == "compare" else "[]"))
    )
    (compared,), (extracted,) = judge.compare(PAIRS[:1]), judge.extract(SENTENCES[:1])
    assert (compared.answer, compared.valid, compared.attempts) == ("invalid", False, 5)
    assert (extracted.phrases, extracted.valid, extracted.attempts) == ((), True, 1)
    unreadable = made(ledger, FakeModel(answer=lambda *_: reply("['single quotes']"))).extract(SENTENCES[1:2])
    assert (unreadable[0].phrases, unreadable[0].valid, unreadable[0].attempts) == ((), False, 5)
    judge.close()


@pytest.mark.parametrize("task", ["extract", "compare"])
def test_a_judge_of_whose_many_answers_none_can_be_read_is_an_error_that_names_it(
    ledger: Ledger, task: str
) -> None:
    mute = made(ledger, FakeModel(answer=lambda *_: reply("I cannot say.")))

    def ask(first: int, last: int) -> None:
        if task == "compare":
            ask_to_compare(mute, PAIRS[first:last])
        else:
            sentences = [f"Perhaps opacity {number}." for number in range(first, last)]
            ask_to_extract(mute, [ExtractionQuestion("opacity", sentence) for sentence in sentences])

    ask(0, MANY - 1)  # a fit asks in many rounds
    with pytest.raises(NothingReadable, match=rf"judge 'one': of {MANY} answers none"):
        ask(MANY - 1, MANY)


def test_a_judge_of_whose_many_answers_one_can_be_read_goes_on(ledger: Ledger) -> None:
    asked = PAIRS[0].sentence_1

    def answer(request: Request, occurrence: int) -> Reply:
        return reply("sentence_1" if asked in request.prompt.user else "I cannot say.")

    answers = ask_to_compare(made(ledger, FakeModel(answer=answer)), PAIRS)
    assert [one.valid for one in answers] == [True] + [False] * (len(PAIRS) - 1)


def test_replicates_are_separate_answers(ledger: Ledger) -> None:
    model = FakeModel(answer=invented)
    judge = made(ledger, model)
    judge.compare([dataclasses.replace(PAIRS[0], replicate=n) for n in range(20)])
    assert model.calls == 20
    judge.close()


def test_the_mode_constrains_comparisons_and_never_extractions(ledger: Ledger) -> None:
    seen: list[tuple[str, str, tuple[str, ...]]] = []

    def noting(request: Request, occurrence: int) -> Reply:
        seen.append((request.task, request.mode, request.labels))
        return invented(request, occurrence)

    judge = made(ledger, FakeModel(answer=noting), mode="enum")
    judge.compare(PAIRS[:1])
    judge.extract(SENTENCES[:1])
    assert seen == [("compare", "enum", ("sentence_1", "sentence_2")), ("extract", "text", ())]
    judge.close()


def test_identity_changes_with_everything_that_changes_answers_and_with_nothing_else(ledger: Ledger) -> None:
    def identity(binding: Any = BINDING, **options: Any) -> str:
        return made(ledger, FakeModel(binding=binding), **options).identity

    same = {
        identity(),
        identity(dataclasses.replace(BINDING, aliases=("fake-1-dated",))),
        identity(progress=print),
    }
    changed = {
        identity(dataclasses.replace(BINDING, model="fake-2")),
        identity(dataclasses.replace(BINDING, endpoint_class="other")),
        identity(dataclasses.replace(BINDING, parameters=(("max_tokens", 11),))),
        identity(prompts=templates("v2")),
        identity(mode="enum"),
    }
    assert len(same) == 1
    assert len(changed) == 5
    assert not same & changed


# --- from anywhere


def test_a_judge_works_inside_a_running_event_loop(judge: ModelJudge) -> None:
    async def notebook() -> int:
        return len(judge.compare(PAIRS))

    assert asyncio.run(notebook()) == len(PAIRS)


def test_rounds_share_one_event_loop_so_that_connections_are_kept(ledger: Ledger) -> None:
    loops = set()

    def noting(request: Request, occurrence: int) -> Reply:
        loops.add(id(asyncio.get_running_loop()))
        return invented(request, occurrence)

    judge = made(ledger, FakeModel(answer=noting))
    for start in range(0, 60, 10):
        judge.compare(PAIRS[start : start + 10])
    assert len(loops) == 1
    judge.close()


def test_several_threads_ask_at_once_within_one_limit(ledger: Ledger) -> None:
    model = FakeModel(latency=0.002, answer=invented)
    judge = made(ledger, model)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda start: judge.compare(PAIRS[start : start + 15]), range(0, 60, 15)))
    assert [answer for part in parts for answer in part] == judge.compare(PAIRS)
    assert model.calls == 60
    assert model.most_in_flight <= 8
    judge.close()


def test_a_closed_judge_leaves_no_thread_and_can_be_used_again(judge: ModelJudge) -> None:
    before = threading.active_count()
    for _ in range(3):
        judge.compare(PAIRS[:5])
        judge.extract(SENTENCES)
        judge.close()
        judge.close()
    for _ in range(100):
        if threading.active_count() <= before:
            break
        time.sleep(0.02)
    assert threading.active_count() <= before


def test_a_judge_works_in_a_forked_process(judge: ModelJudge) -> None:
    judge.compare(PAIRS[:5])
    child = multiprocessing.get_context("fork").Process(
        target=lambda: os._exit(len(judge.compare(PAIRS[:30])))
    )
    child.start()
    child.join(20)
    assert child.exitcode == 30


def test_ctrl_c_records_the_calls_in_flight_and_ends_promptly(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from fake_model import FakeModel
from lunguage_assets.judges.ledger.ledger import Ledger
import test_model_judge as here
model = FakeModel(latency=0.1, answer=here.invented, log=Path(sys.argv[2]))
questions = [here.ComparisonQuestion(f"{n}", "x") for n in range(4000)]
here.made(Ledger.open(sys.argv[1]), model).compare(questions)
"""
    place, log = tmp_path / "ledger.sqlite", tmp_path / "sent"
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(place), str(log)],
        env=child_process.environment(),
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parent,
    )
    deadline = time.monotonic() + 30
    while not (log.exists() and log.stat().st_size > 65 * 20) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode != 0
    assert b"KeyboardInterrupt" in errors
    sent = log.read_text().split()
    assert 20 <= len(sent) < 4000
    assert set(Ledger.open(place).answers(sent)) == set(sent)


# --- with a real SDK


def test_with_the_openai_sdk_and_one_call_in_five_misbehaving_the_answers_are_those_of_a_clean_run(
    tmp_path: Path,
) -> None:
    pytest.importorskip("openai")
    answers, extracted = [], []
    for name, decide in (("clean", None), ("troubled", failing_share(0.2, TROUBLES, seed=3))):
        ledger = Ledger.open(tmp_path / name)
        with LoopbackServer(decide=decide, latency=0.005) as server:
            slot = ModelSlot(
                provider="openai", model="gpt-test", params={"max_tokens": 100}, base_url=server.openai_url
            )
            judge = made(
                ledger, provider_of("one", slot, {"OPENAI_API_KEY": "invented"}), prompts=load_prompts()
            )
            answers.append([answer.answer for answer in judge.compare(PAIRS)])
            extracted.append([answer.phrases for answer in judge.extract(SENTENCES)])
            calls = len(server.calls)
            assert (judge.compare(PAIRS), judge.extract(SENTENCES)) == (
                judge.compare(PAIRS),
                judge.extract(SENTENCES),
            )
            assert len(server.calls) == calls
            judge.close()
            row = ledger.statistics().sum(numeric_only=True)
            assert row["attempts"] == calls
            assert row["valid"] == len(PAIRS) + len(SENTENCES)
            assert row["valid"] + row["invalid"] == server.answered
    assert answers[0] == answers[1]
    assert extracted[0] == extracted[1]
    assert all(answer != "invalid" for answer in answers[0])
    assert calls > len(PAIRS) + len(SENTENCES)
