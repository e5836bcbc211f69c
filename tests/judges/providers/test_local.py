"""A model in this process answers each question as if it were alone, in batches, and its text goes
nowhere.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import child_process
import pandas as pd
import pytest
import tiny_model
from tiny_model import FAMILIES, LABELS, answers, made, one_by_one, question, slot

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.asking.budget import Budget
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.opening import Surroundings, open_judge
from lunguage_assets.judges.protocol import ComparisonQuestion, ask_to_compare
from lunguage_assets.judges.requests import Prompt, Provider, ProviderFailure, Reply, Request

if (reason := tiny_model.missing()) is not None:
    pytest.skip(reason, allow_module_level=True)

MARKER = "the zebra-striped opacity"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    return {family: tiny_model.save(root / family, family) for family in tiny_model.FAMILIES}


@pytest.fixture(scope="module")
def llama(folders: dict[str, Path]) -> Path:
    return folders["llama"]


# --- batches


@pytest.mark.parametrize("mode", ["text", "enum"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_batch_answers_like_its_questions_one_by_one(
    folders: dict[str, Path], family: str, mode: str
) -> None:
    requests = [question(number, mode) for number in range(13)]
    together = answers(made(folders[family], batch_size=8), *requests)
    assert together == one_by_one(made(folders[family]), requests)
    assert together == answers(made(folders[family], batch_size=5), *reversed(requests))[::-1]
    assert len({reply.text for reply in together}) > 1, "a model that always says the same shows nothing"


class Stub:
    """A loaded model in memory: notes its batches, and lacks memory for more than `room` questions."""

    def __init__(self, room: int = 99, error: Any = None) -> None:
        self.room, self.error, self.released = room, error, 0
        self.batches: list[list[str]] = []

    def answer(self, requests: Any) -> list[Reply | ProviderFailure]:
        self.batches.append([request.prompt.user for request in requests])
        if len(requests) > self.room:
            raise self.error
        return [Reply(request.prompt.user.upper(), "stub", 1, 1) for request in requests]

    def release_memory(self) -> None:
        self.released += 1


def stubbed(stub: Stub, batch_size: int = 8) -> Provider:
    from lunguage_assets.judges.providers.local import LocalProvider

    return LocalProvider(slot(Path("stub")).binding, lambda: stub, batch_size)


def asked(text: str, mode: Any = "text", labels: tuple[str, ...] = LABELS) -> Request:
    return Request("compare", Prompt("s", text), mode, labels)


def test_questions_asked_at_once_share_batches_up_to_the_size_and_the_rest_does_not_wait() -> None:
    stub = Stub()
    replies = answers(stubbed(stub), *[asked(f"q{n}") for n in range(20)])
    assert [reply.text for reply in replies] == [f"Q{n}" for n in range(20)]
    assert [len(batch) for batch in stub.batches] == [8, 8, 4]


class Gated(Stub):
    """A stub whose first batch ends only when it is let through."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.let_through = threading.Event(), threading.Event()

    def answer(self, requests: Any) -> list[Reply | ProviderFailure]:
        self.begun.set()
        assert self.let_through.wait(60)
        return super().answer(requests)


def test_a_question_that_nobody_waits_for_any_more_is_not_answered() -> None:
    stub = Gated()
    provider = stubbed(stub, batch_size=2)

    async def give_up() -> None:
        first = asyncio.ensure_future(provider.answer(asked("first")))
        assert await asyncio.to_thread(stub.begun.wait, 60)
        calls = [asyncio.ensure_future(provider.answer(asked(f"q{n}"))) for n in range(3)]
        await asyncio.sleep(0)  # the three are asked, and wait for the first one's batch
        calls[1].cancel()
        await asyncio.wait([calls[1]])
        stub.let_through.set()
        await asyncio.wait([first, *calls])
        await provider.close()

    asyncio.run(give_up())
    assert stub.batches[0] == ["first"]
    assert sorted(itertools.chain.from_iterable(stub.batches[1:])) == ["q0", "q2"]


# --- memory


def no_memory(kind: str) -> Exception:
    import torch

    return (
        torch.cuda.OutOfMemoryError("CUDA out of memory.")
        if kind == "cuda"
        else RuntimeError("DefaultCPUAllocator: can't allocate memory")
    )


@pytest.mark.parametrize("kind", ["cuda", "cpu"])
def test_without_memory_for_a_batch_its_halves_are_tried_and_later_batches_are_smaller(kind: str) -> None:
    stub = Stub(room=3, error=no_memory(kind))
    provider = stubbed(stub)
    assert [reply.text for reply in answers(provider, *[asked(f"q{n}") for n in range(8)])] == [
        f"Q{n}" for n in range(8)
    ]
    assert [len(batch) for batch in stub.batches] == [8, 4, 2, 2, 4, 2, 2]
    assert stub.released == 3
    stub.batches.clear()
    answers(provider, *[asked(f"r{n}") for n in range(4)])
    assert [len(batch) for batch in stub.batches] == [2, 2]


def test_a_question_that_is_too_large_alone_fails_and_may_be_tried_again() -> None:
    with pytest.raises(ProviderFailure, match="overloaded") as caught:
        answers(stubbed(Stub(room=0, error=no_memory("cuda"))), asked("q"))
    assert caught.value.retryable
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


# --- loading


@pytest.mark.parametrize("damage", ["no weights", "pickled weights", "no template", "no folder"])
def test_a_model_that_cannot_be_used_is_named_with_what_to_do(tmp_path: Path, damage: str) -> None:
    folder = tiny_model.save(
        tmp_path / "model", template=None if damage == "no template" else tiny_model.WITH_SYSTEM
    )
    weights = folder / "model.safetensors"
    if damage in ("no weights", "pickled weights"):
        weights.unlink()
    if damage == "pickled weights":
        (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    place = tmp_path / "nowhere" if damage == "no folder" else folder
    with pytest.raises(ConfigurationError) as caught:
        answers(made(place), question(1))
    assert "judge 'tiny'" in str(caught.value)
    assert str(place) in str(caught.value)
    assert "expected" in str(caught.value).lower()
    assert "zone" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("module", ["torch", "transformers"])
def test_a_missing_extra_gives_the_line_that_installs_it(
    llama: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setattr(
        "lunguage_assets.judges.providers.local.find_spec", lambda name: None if name == module else object()
    )
    with pytest.raises(
        ConfigurationError, match=rf"needs {module}, .*pip install 'lunguage-assets\[models\]'"
    ):
        made(llama)


def test_two_judges_of_one_model_load_it_once_and_the_last_lets_it_go(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gc

    import transformers

    from lunguage_assets.judges.providers import local_model

    loads: list[Any] = []
    load = transformers.AutoModelForCausalLM.from_pretrained
    monkeypatch.setattr(
        transformers.AutoModelForCausalLM, "from_pretrained", lambda *a, **k: loads.append(a) or load(*a, **k)
    )
    gc.collect()
    text, scored, coarse = (
        made(llama, dtype="float32"),
        made(llama, {"top_k": 3}, dtype="float32", mode="enum"),
        made(llama, dtype="bfloat16"),
    )
    for provider in (text, scored, coarse):
        answers(provider, question(1))
    assert len(loads) == 2
    for provider in (text, scored, coarse):
        asyncio.run(provider.close())
    gc.collect()
    assert (str(llama), "main", "float32", "cpu") not in local_model._LOADED


def test_nothing_is_imported_before_the_first_question_and_nothing_printed_after_it(llama: Path) -> None:
    program = f"""
import asyncio, sys
import tiny_model
from lunguage_assets.judges.providers import provider_of
from lunguage_assets.judges.requests import Prompt, Request
from lunguage_assets.judges.slots import ModelSlot
params = {{"max_new_tokens": 5}}
provider = provider_of("tiny", ModelSlot(provider="transformers", model={str(llama)!r}, params=params), {{}})
assert not {{"torch", "transformers"}} & set(sys.modules)
asyncio.run(provider.answer(Request("compare", Prompt("s", {MARKER!r}), "enum", {LABELS!r})))
asyncio.run(provider.answer(Request("compare", Prompt("s", {MARKER!r}))))
assert {{"torch", "transformers"}} <= set(sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=child_process.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_prompt_reaches_a_log(llama: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    prompt = Prompt("You judge.", MARKER, "v1")
    answers(made(llama), Request("compare", prompt), Request("compare", prompt, "enum", LABELS))
    too_long = Prompt("You judge.", f"{MARKER} " * 300, "v1")
    with pytest.raises(ProviderFailure):
        answers(made(llama), Request("compare", too_long))
    assert "zebra" not in caplog.text


# --- as a judge

JUDGES = """
preset = "here"
[judges.text]
provider = "transformers"
model = "{folder}"
params = {{ max_new_tokens = 6 }}
device = "cpu"
[judges.scored]
provider = "transformers"
model = "{folder}"
params = {{ max_new_tokens = 6 }}
device = "cpu"
mode = "enum"
batch_size = 16
[panels.here]
members = ["text", "scored"]
[presets.here]
panel = "here"
extractor = "text"
"""


@pytest.fixture
def judges(llama: Path, tmp_path: Path) -> Path:
    file = tmp_path / "judges.toml"
    file.write_text(JUDGES.format(folder=llama), encoding="utf-8")
    return file


@pytest.mark.parametrize("key", ["text", "scored"])
def test_a_judge_of_patients_text_on_no_budget_answers_and_replays_from_the_ledger(
    judges: Path, tmp_path: Path, key: str
) -> None:
    configuration = load_judges(judges)
    questions = [
        ComparisonQuestion(f"There may be <finding> in zone {n}.", "There is likely <finding>.", n % 2)
        for n in range(9)  # a model that is mute on ten ends the run
    ]

    def judged(ledger: Path) -> list[Any]:
        around = Surroundings(
            data_class="credentialed", open_ledger=lambda: Ledger.open(ledger), budget=Budget(0.0)
        )
        judge = open_judge(key, configuration, around)
        found = ask_to_compare(judge, questions)
        judge.close()  # type: ignore[attr-defined]
        return found

    first = judged(tmp_path / "a.sqlite")
    assert judged(tmp_path / "b.sqlite") == first, "another ledger, the same answers"
    stats = Ledger.open(tmp_path / "a.sqlite").statistics()
    assert (stats["cost_usd"].sum(), stats["unpriced"].sum()) == (0, 0)
    assert {answer.answer for answer in first} <= (
        {"sentence_1", "sentence_2"} if key == "scored" else {*LABELS, "invalid"}
    )
    replay = judged(tmp_path / "a.sqlite")
    assert replay == first
    assert Ledger.open(tmp_path / "a.sqlite").statistics().equals(stats)


def test_an_answer_that_cannot_be_read_is_drawn_anew(judges: Path, tmp_path: Path) -> None:
    around = Surroundings(data_class="synthetic", open_ledger=lambda: Ledger.open(tmp_path / "ledger.sqlite"))
    judge = open_judge("text", load_judges(judges), around)
    ask_to_compare(judge, [ComparisonQuestion("There may be <finding>.", "There is likely <finding>.")])
    Ledger.open(tmp_path / "ledger.sqlite").export(tmp_path / "answers.parquet")
    found = pd.read_parquet(tmp_path / "answers.parquet")["answer"]
    assert len(found) == len(set(found)) == 5
