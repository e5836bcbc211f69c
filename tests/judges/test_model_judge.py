"""A model behind the Judge protocol answers like any other judge, pays once, and can be used from
anywhere.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from string import Template
from typing import Any

import child_process
import pytest
from fake_model import BINDING, FakeModel, draw, reply

from lunguage_assets.judges.asker import MANY, Asker, NothingReadable
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.model_judge import ModelJudge
from lunguage_assets.judges.prompts import Prompts
from lunguage_assets.judges.protocol import (
    ComparisonQuestion,
    ExtractionQuestion,
    ask_to_compare,
    ask_to_extract,
)
from lunguage_assets.judges.requests import Reply, Request
from lunguage_assets.judges.slots import Limits

PAIRS = [
    ComparisonQuestion(f"There may be <finding> number {n}.", "There is likely <finding>.") for n in range(60)
]
SENTENCES = [ExtractionQuestion("opacity", f"Possible opacity in invented zone {n}.") for n in range(MANY)]
TEMPLATES = {
    ("extraction", "system"): Template("List the hedges."),
    ("extraction", "user"): Template("$finding: $sentence"),
    ("comparison", "system"): Template("Which is closer to certain?"),
    ("comparison", "user"): Template("$sentence_1 | $sentence_2"),
}
PROMPTS = Prompts("v1", TEMPLATES)


def invented(request: Request, occurrence: int) -> Reply:
    if request.task == "extract":
        return reply(json.dumps(["possible"]))
    return reply("sentence_1" if draw(request.prompt.user, request.replicate) < 0.5 else "sentence_2")


def made(ledger: Ledger, model: Any = None, **options: Any) -> ModelJudge:
    model = model if model is not None else FakeModel(answer=invented)
    limits = Limits(in_flight=8, backoff_s=0.001)
    prompts, mode = options.pop("prompts", PROMPTS), options.pop("mode", "text")
    return ModelJudge(Asker("one", model, ledger, limits, **options), prompts, mode)


@pytest.mark.parametrize("task", ["extract", "compare"])
def test_a_judge_of_whose_many_answers_none_can_be_read_is_an_error_that_names_it(
    ledger: Ledger, task: str
) -> None:
    mute = made(ledger, FakeModel(answer=lambda *_: reply("I cannot say.")))

    def ask(*places: int) -> None:
        if task == "compare":
            ask_to_compare(mute, [PAIRS[place] for place in places])
        else:
            ask_to_extract(mute, [SENTENCES[place] for place in places])

    ask(*range(MANY - 1))  # a fit asks in many rounds
    with pytest.raises(NothingReadable, match=rf"judge 'one': of {MANY} answers none"):
        ask(MANY - 1)


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
        identity(prompts=Prompts("v2", TEMPLATES)),
        identity(mode="enum"),
    }
    assert len(same) == 1
    assert len(changed) == 5
    assert not same & changed


def test_a_judge_works_inside_a_running_event_loop(ledger: Ledger) -> None:
    async def notebook() -> int:
        return len(made(ledger).compare(PAIRS))

    assert asyncio.run(notebook()) == len(PAIRS)


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
