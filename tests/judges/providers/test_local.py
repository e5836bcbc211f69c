"""A model in this process answers each question as if it were alone, in batches, and
its text goes nowhere: the likelier of two labels, or text drawn as its parameters say,
to the prompt as its template has it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import child_process
import pytest
import tiny_model
from tiny_model import (
    FAMILIES,
    LABELS,
    answers,
    made,
    one_by_one,
    question,
    shown,
    slot,
    tokenizer,
)

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.explicit.open_judges import open_judge
from lunguage_assets.judges.asking.limits import Budget
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.judge_config import GenerationParameters
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.opening import JudgeContext
from lunguage_assets.judges.protocol import ComparisonQuestion
from lunguage_assets.judges.providers import local, local_model
from lunguage_assets.judges.providers.local import LocalProvider
from lunguage_assets.judges.providers.local_model import (
    LOADED_MODELS,
    LocalModel,
    ModelSource,
)
from lunguage_assets.judges.providers.sampling import SeededSampler
from lunguage_assets.judges.requests import Prompt, ProviderFailure, Reply, Request

if (reason := tiny_model.missing()) is not None:
    pytest.skip(reason, allow_module_level=True)

MARKER = "the zebra-striped opacity"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Named alike in every run: draws are hashed from a model's name too."""
    with chdir(tmp_path_factory.mktemp("models")):
        yield {family: tiny_model.save(Path(family), family) for family in FAMILIES}


@pytest.fixture(scope="module")
def llama(folders: dict[str, Path]) -> Path:
    return folders["llama"]


# --- batches


@pytest.mark.parametrize(
    ("family", "mode"), [("llama", "text"), ("gpt2", "enum"), ("gemma", "text")]
)
def test_a_batch_answers_like_its_questions_one_by_one(
    folders: dict[str, Path], family: str, mode: str
) -> None:
    requests = [question(number, mode) for number in range(13)]
    together = answers(made(folders[family], batch_size=8), *requests)
    assert together == one_by_one(made(folders[family]), requests)
    assert (
        together
        == answers(made(folders[family], batch_size=5), *reversed(requests))[::-1]
    )
    assert len({reply.text for reply in together}) > 1, (
        "a model that always says the same shows nothing"
    )


class Stub:
    """A loaded model in memory: notes its batches, and lacks memory for more than
    `room` questions.
    """

    def __init__(self, room: int = 99, error: Any = None) -> None:
        self.room = room
        self.error = error
        self.batches: list[list[str]] = []

    def __call__(self, requests: Any) -> list[Reply | Exception]:
        self.batches.append([request.prompt.user for request in requests])
        if len(requests) > self.room:
            raise self.error
        return [
            Reply(request.prompt.user.upper(), "stub", 1, 1) for request in requests
        ]


def stubbed(stub: Any, batch_size: int = 8) -> LocalProvider:
    return LocalProvider(slot(Path("stub")).binding, lambda: stub, batch_size)


def asked(count: int, name: str = "q") -> list[Request]:
    return [
        Request("compare", Prompt("s", f"{name}{n}"), "text", LABELS)
        for n in range(count)
    ]


def test_questions_asked_at_once_share_batches() -> None:
    stub = Stub()
    assert [reply.text for reply in answers(stubbed(stub), *asked(20))] == [
        f"Q{n}" for n in range(20)
    ]
    assert [len(batch) for batch in stub.batches] == [8, 8, 4]


@pytest.mark.parametrize("kind", ["cuda", "cpu"])
def test_without_memory_for_a_batch_its_halves_are_tried(
    kind: str,
) -> None:
    import torch

    message = "DefaultCPUAllocator: can't allocate memory"
    error = (
        torch.cuda.OutOfMemoryError("CUDA out of memory.")
        if kind == "cuda"
        else RuntimeError(message)
    )
    stub = Stub(room=3, error=error)
    provider = stubbed(stub)
    assert [reply.text for reply in answers(provider, *asked(8))] == [
        f"Q{n}" for n in range(8)
    ]
    assert [len(batch) for batch in stub.batches] == [8, 4, 2, 2, 4, 2, 2]
    stub.batches.clear()
    answers(provider, *asked(4, "r"))
    assert [len(batch) for batch in stub.batches] == [2, 2]
    with pytest.raises(ProviderFailure, match="overloaded") as caught:
        answers(stubbed(Stub(room=0, error=error)), *asked(1))
    assert (
        caught.value.retryable,
        caught.value.__cause__,
        caught.value.__context__,
    ) == (True, None, None)


# --- loading


@pytest.mark.parametrize(
    "damage", ["no weights", "pickled weights", "no template", "no folder"]
)
def test_a_model_that_cannot_be_used_is_named_with_what_to_do(
    tmp_path: Path, damage: str
) -> None:
    template = None if damage == "no template" else tiny_model.WITH_SYSTEM
    folder = tiny_model.save(tmp_path / "model", template=template)
    if damage in ("no weights", "pickled weights"):
        (folder / "model.safetensors").unlink()
    if damage == "pickled weights":
        (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    model_folder = tmp_path / "nowhere" if damage == "no folder" else folder
    with pytest.raises(ConfigurationError) as caught:
        answers(made(model_folder), question(1))
    assert all(
        words in str(caught.value)
        for words in ("judge 'tiny'", str(model_folder), "xpected")
    )
    assert "zone" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("module", ["torch", "transformers", "gguf", "accelerate"])
def test_a_missing_library_gives_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setattr(
        local, "find_spec", lambda name: None if name == module else object()
    )
    with pytest.raises(
        ConfigurationError,
        match=rf"needs {module}, .*pip install 'lunguage-assets\[models",
    ):
        made(Path("some/model.gguf"))


def test_two_judges_of_one_model_load_it_once(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []
    model = local_model.LocalModel

    def load(key: str, source: ModelSource) -> LocalModel:
        loads.append(source.dtype)
        return model(key, source)

    monkeypatch.setattr(local_model, "LocalModel", load)
    gc.collect()
    judges = [
        made(llama, dtype="float32"),
        made(llama, {"top_k": 3}, dtype="float32", mode="enum"),
    ]
    judges.append(made(llama, dtype="bfloat16"))
    for provider in judges:
        answers(provider, question(1))
    assert loads == ["float32", "bfloat16"]
    del provider, judges
    gc.collect()
    source = ModelSource(str(llama), "main", "float32", "cpu")
    assert LOADED_MODELS.find(source) is None


@pytest.mark.lengthy  # loads torch once more
def test_nothing_is_imported_before_the_first_question_and_nothing_printed_after_it(
    llama: Path,
) -> None:
    program = f"""
import asyncio, sys
import tiny_model
from lunguage_assets.judges.opening import provider_of
from lunguage_assets.judges.requests import Prompt, Request
from lunguage_assets.judges.judge_config import LLMJudgeConfig
params = {{"max_new_tokens": 5}}
provider = provider_of("tiny", LLMJudgeConfig(provider="transformers", model={str(llama)!r}, params=params), {{}})
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
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_prompt_reaches_a_log(llama: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    prompt = Prompt("You judge.", MARKER, "v1")
    answers(
        made(llama),
        Request("compare", prompt),
        Request("compare", prompt, "enum", LABELS),
    )
    assert "zebra" not in caplog.text


# --- scored labels


@pytest.mark.parametrize("family", FAMILIES)
def test_the_scored_label_is_the_likelier_one_where_their_tokens_part(
    folders: dict[str, Path], family: str
) -> None:
    folder = folders[family]
    first, second = (
        shown(folder, question(0), label)[len(shown(folder, question(0))) :]
        for label in LABELS
    )
    common = len([a for a, b in zip(first, second, strict=True) if a == b])
    assert common > 0, "the two labels must begin alike in this test"
    requests = [question(number, "enum") for number in range(12)]
    for request, reply in zip(requests, answers(made(folder), *requests), strict=True):
        scores = tiny_model.next_token_scores(
            folder, shown(folder, request) + first[:common]
        )
        assert reply.text == (
            LABELS[0] if scores[first[common]] > scores[second[common]] else LABELS[1]
        )
        assert (reply.input_tokens, reply.output_tokens) == (
            len(shown(folder, request)),
            common + 1,
        )


def test_labels_that_cannot_be_told_apart_are_refused(llama: Path) -> None:
    with pytest.raises(
        ConfigurationError, match="does not tell the labels likely, likely apart"
    ):
        answers(made(llama), question(1, "enum", labels=("likely", "likely")))


def test_equal_scores_are_decided_by_a_coin_of_the_question(tmp_path: Path) -> None:
    import torch
    import transformers

    folder = tiny_model.save(tmp_path)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        model.lm_head.weight.zero_()
    model.save_pretrained(folder)
    requests = [question(number, "enum") for number in range(60)]
    replies = answers(made(folder, batch_size=60), *requests)
    chosen = Counter(reply.text for reply in replies)
    assert all(15 <= chosen[label] <= 45 for label in LABELS)
    assert answers(made(folder), requests[7]) == [replies[7]]


# --- generated text


def test_a_sample_depends_on_question_replicate_and_attempt_alone(
    llama: Path,
) -> None:
    variants = [question(3, replicate=n, attempt=m) for n in range(3) for m in range(3)]
    texts = [reply.text for reply in answers(made(llama), *variants)]
    assert texts == [reply.text for reply in one_by_one(made(llama), variants)]
    assert len(set(texts)) == len(variants)
    keys = {request_key(slot(llama).binding, variant) for variant in variants}
    assert len(keys) == 3, "an attempt is no question of its own"


@pytest.mark.parametrize("family", FAMILIES)
def test_without_sampling_the_text_is_the_librarys_own_greedy_text(
    folders: dict[str, Path], family: str
) -> None:
    import torch

    folder = folders[family]
    model = tiny_model.plain_model(folder)
    requests = [question(number) for number in range(6)]
    for request, reply in zip(
        requests, answers(made(folder, {"do_sample": False}), *requests), strict=True
    ):
        tokens = shown(folder, request)
        longer = model.generate(
            torch.tensor([tokens]), max_new_tokens=12, do_sample=False
        )[0, len(tokens) :]
        assert reply.text == tokenizer(folder).decode(longer, skip_special_tokens=True)


def test_an_answer_counts_its_end_token_but_no_padding(
    llama: Path,
) -> None:
    requests = [question(number) for number in range(24)]
    replies = answers(made(llama, {"max_new_tokens": 100}, batch_size=24), *requests)
    lengths = {reply.output_tokens for reply in replies if reply.output_tokens < 100}
    assert len(lengths) > 2, "some end before others"
    for request, reply in zip(requests, replies, strict=True):
        assert not any(special in reply.text for special in tiny_model.SPECIALS)
        assert (reply.input_tokens, reply.returned_model) == (
            len(shown(llama, request)),
            str(llama),
        )


@pytest.mark.parametrize(("params", "probabilities"), [
    ({}, [0.4, 0.3, 0.2, 0.1]), ({"top_k": 2}, [4 / 7, 3 / 7]), ({"top_p": 0.65}, [4 / 7, 3 / 7]),
    ({"min_p": 0.6}, [4 / 7, 3 / 7]),
    ({"temperature": 0.5}, [16 / 30, 9 / 30, 4 / 30, 1 / 30]),
    ({"temperature": 0.5, "top_k": 3}, [16 / 29, 9 / 29, 4 / 29]),
])  # fmt: skip
def test_tokens_are_drawn_in_proportion_to_what_the_parameters_leave(
    params: dict[str, Any], probabilities: list[float]
) -> None:
    import torch

    draws = 20_000
    parameters = GenerationParameters(max_new_tokens=1, **params)
    choose = SeededSampler(
        parameters, [str(number) for number in range(draws)], start=3
    )
    row = [-math.inf, *(math.log(p) for p in (0.4, 0.3, 0.2, 0.1)), -math.inf]
    chosen = choose(
        torch.zeros((draws, 3), dtype=torch.long), torch.tensor([row]).repeat(draws, 1)
    )
    assert torch.equal(chosen.max(dim=-1).values, torch.zeros(draws))
    assert torch.equal((chosen == -math.inf).sum(dim=-1), torch.full((draws,), 5))
    counts = torch.bincount(chosen.argmax(dim=-1), minlength=6).tolist()
    expected = [0.0, *probabilities, *[0.0] * (4 - len(probabilities)), 0.0]
    for count, share in zip(counts, expected, strict=True):
        assert abs(count - share * draws) <= 5 * math.sqrt(share * (1 - share) * draws)


# --- prompts


@pytest.mark.parametrize(
    "template", [tiny_model.REFUSING_SYSTEM, tiny_model.DROPPING_SYSTEM]
)
def test_a_template_without_a_system_role_gets_both_texts_as_the_users(
    tmp_path: Path, template: str
) -> None:
    folder = tiny_model.save(tmp_path / "model", template=template)
    request = question(2)
    text = f"<bos><user>{request.prompt.system}\n\n{request.prompt.user}<end><model>"
    expected = tokenizer(folder)(text, add_special_tokens=False)["input_ids"]
    assert answers(made(folder), request)[0].input_tokens == len(expected)


def test_a_prompt_too_long_for_the_model_is_refused_alone(tmp_path: Path) -> None:
    folder = tiny_model.save(tmp_path, positions=128)
    provider = made(folder)
    long = Request("compare", Prompt("You judge.", "likely " * 200, "v1"))

    async def ask() -> list[Any]:
        requests = [question(0), long, question(1)]
        return list(
            await asyncio.gather(
                *map(provider.answer, requests), return_exceptions=True
            )
        )

    first, refused, last = asyncio.run(ask())
    assert [first, last] == one_by_one(made(folder), [question(0), question(1)])
    assert isinstance(refused, ProviderFailure)
    assert (refused.kind, refused.retryable) == ("rejected", False)


# --- as a judge


def judges(folder: Path) -> JudgesConfiguration:
    model = {
        "provider": "transformers",
        "model": str(folder),
        "params": {"max_new_tokens": 6},
        "device": "cpu",
    }
    return JudgesConfiguration.model_validate(
        {
            "preset": "here",
            "judges": {
                "text": model,
                "scored": model | {"mode": "enum", "batch_size": 16},
            },
            "panels": {"here": {"members": ["text", "scored"]}},
            "presets": {"here": {"panel": "here", "extractor": "text"}},
        }
    )


@pytest.mark.parametrize("key", ["text", "scored"])
def test_a_local_judge_answers_on_no_budget_and_replays(
    llama: Path, tmp_path: Path, key: str
) -> None:
    questions = [
        ComparisonQuestion(
            f"There may be <finding> in zone {n}.", "There is likely <finding>.", n % 2
        )
        for n in range(9)  # a model that is mute on ten ends the run
    ]

    def judged(ledger: Path) -> list[Any]:
        around = JudgeContext("credentialed", lambda: Ledger.open(ledger), Budget(0.0))
        return open_judge(key, judges(llama), around).compare(questions)

    first = judged(tmp_path / "a.sqlite")
    assert judged(tmp_path / "b.sqlite") == first, "another ledger, the same answers"
    stats = Ledger.open(tmp_path / "a.sqlite").statistics()
    assert (stats["cost_usd"].sum(), stats["unpriced"].sum()) == (0, 0)
    assert set(first) <= {*LABELS, *(["invalid"] if key == "text" else [])}
    assert judged(tmp_path / "a.sqlite") == first
    assert Ledger.open(tmp_path / "a.sqlite").statistics().equals(stats)
