"""What a model in this process answers: the likelier of two labels, or text drawn as its parameters say, to
the prompt as its template has it.
"""

from __future__ import annotations

import asyncio
import functools
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tiny_model
from tiny_model import FAMILIES, LABELS, answers, made, one_by_one, question, shown, slot, tokenizer

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.requests import Prompt, ProviderFailure, Request
from lunguage_assets.judges.slots import Generation

if (reason := tiny_model.missing()) is not None:
    pytest.skip(reason, allow_module_level=True)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    return {family: tiny_model.save(root / family, family) for family in tiny_model.FAMILIES}


@pytest.fixture(scope="module")
def llama(folders: dict[str, Path]) -> Path:
    return folders["llama"]


# --- scored labels


@pytest.mark.parametrize("family", FAMILIES)
def test_the_scored_label_is_the_likelier_one_where_their_tokens_part(
    folders: dict[str, Path], family: str
) -> None:
    folder = folders[family]
    first, second = (shown(folder, question(0), label)[len(shown(folder, question(0))) :] for label in LABELS)
    common = len([a for a, b in zip(first, second, strict=True) if a == b])
    assert common > 0, "the two labels must begin alike in this test"
    requests = [question(number, "enum") for number in range(12)]
    for request, reply in zip(requests, answers(made(folder), *requests), strict=True):
        scores = tiny_model.next_token_scores(folder, shown(folder, request) + first[:common])
        assert reply.text == (LABELS[0] if scores[first[common]] > scores[second[common]] else LABELS[1])
        assert (reply.input_tokens, reply.output_tokens) == (len(shown(folder, request)), common + 1)


def test_a_label_that_begins_the_other_is_scored_by_the_end_of_the_answer(llama: Path) -> None:
    labels = ("not", "not likely")
    requests = [question(number, "enum", labels=labels) for number in range(40)]
    replies = answers(made(llama, batch_size=40), *requests)
    end = tokenizer(llama).eos_token_id
    start = shown(llama, requests[0])
    short, long = (shown(llama, requests[0], label)[len(start) :] for label in labels)
    assert long[: len(short)] == short
    for request, reply in zip(requests, replies, strict=True):
        scores = tiny_model.next_token_scores(llama, shown(llama, request) + short)
        assert reply.text == (labels[0] if scores[end] > scores[long[len(short)]] else labels[1])
    assert {reply.text for reply in replies} == set(labels)


@pytest.mark.parametrize("labels", [("likely", "likely"), ("likely",), ("a", "b", "c")])
def test_labels_that_cannot_be_told_apart_are_refused(llama: Path, labels: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError, match=r"judge 'tiny'.*labels"):
        answers(made(llama), question(1, "enum", labels=labels))


def test_equal_scores_are_decided_by_a_coin_of_the_question(tmp_path: Path) -> None:
    import torch
    import transformers

    folder = tiny_model.save(tmp_path)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        model.lm_head.weight.zero_()
    model.save_pretrained(folder)
    requests = [question(number, "enum") for number in range(60)]
    chosen = Counter(reply.text for reply in answers(made(folder, batch_size=60), *requests))
    assert all(15 <= chosen[label] <= 45 for label in LABELS)
    assert answers(made(folder), requests[7]) == [answers(made(folder, batch_size=60), *requests)[7]]


def test_scoring_a_batch_is_one_forward_pass_over_the_last_token_alone(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers

    passes: list[tuple[int, ...]] = []
    forward = transformers.LlamaForCausalLM.forward

    @functools.wraps(forward)  # the library reads the signature
    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = forward(self, *args, **kwargs)
        passes.append(tuple(result.logits.shape[:2]))
        return result

    monkeypatch.setattr(transformers.LlamaForCausalLM, "forward", counted)
    answers(made(llama), *[question(number, "enum") for number in range(6)])
    assert passes == [(6, 1)]


# --- generated text


def test_a_sample_is_a_function_of_the_question_its_replicate_and_its_attempt(llama: Path) -> None:
    variants = [
        question(3, replicate=replicate, attempt=attempt) for replicate in range(3) for attempt in range(3)
    ]
    texts = [reply.text for reply in answers(made(llama), *variants)]
    assert texts == [reply.text for reply in one_by_one(made(llama), variants)]
    assert len(set(texts)) == len(variants)
    assert len({request_key(slot(llama).binding, variant) for variant in variants}) == 3, (
        "an attempt is no question of its own"
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_without_sampling_the_text_is_the_librarys_own_greedy_text(
    folders: dict[str, Path], family: str
) -> None:
    import torch

    folder = folders[family]
    model = tiny_model.plain_model(folder)
    requests = [question(number) for number in range(6)]
    for request, reply in zip(requests, answers(made(folder, {"do_sample": False}), *requests), strict=True):
        tokens = shown(folder, request)
        longer = model.generate(torch.tensor([tokens]), max_new_tokens=12, do_sample=False)[0, len(tokens) :]
        assert reply.text == tokenizer(folder).decode(longer, skip_special_tokens=True)


def test_an_answer_ends_with_its_end_token_and_counts_it_but_no_padding(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(llama.parent)
    name = Path(llama.name)  # draws are hashed from a model's name too: a temporary folder is another draw
    requests = [question(number) for number in range(24)]
    replies = answers(made(name, {"max_new_tokens": 100}, batch_size=24), *requests)
    ended = [reply for reply in replies if reply.output_tokens < 100]
    assert len({reply.output_tokens for reply in ended}) > 2, "some end before others"
    for request, reply in zip(requests, replies, strict=True):
        assert not any(special in reply.text for special in tiny_model.SPECIALS)
        assert reply.input_tokens == len(shown(llama, request))
    assert all(reply.returned_model == str(name) for reply in replies)


@pytest.mark.parametrize(("params", "left"), [
    ({}, [0.4, 0.3, 0.2, 0.1]), ({"top_k": 2}, [4 / 7, 3 / 7]), ({"top_p": 0.65}, [4 / 7, 3 / 7]),
    ({"min_p": 0.6}, [4 / 7, 3 / 7]),
    ({"temperature": 0.5}, [16 / 30, 9 / 30, 4 / 30, 1 / 30]),
    ({"temperature": 0.5, "top_k": 3}, [16 / 29, 9 / 29, 4 / 29]),
])  # fmt: skip
def test_tokens_are_drawn_in_proportion_to_what_the_parameters_leave(
    params: dict[str, Any], left: list[float]
) -> None:
    import torch

    from lunguage_assets.judges.providers.local_model import Chooser

    draws = 20_000
    choose = Chooser(
        Generation(max_new_tokens=1, **params), [str(number) for number in range(draws)], start=3
    )
    scores = torch.tensor([[-math.inf, *(math.log(p) for p in (0.4, 0.3, 0.2, 0.1)), -math.inf]]).repeat(
        draws, 1
    )
    chosen = choose(torch.zeros((draws, 3), dtype=torch.long), scores)
    assert torch.equal(chosen.max(dim=-1).values, torch.zeros(draws))
    assert torch.equal((chosen == -math.inf).sum(dim=-1), torch.full((draws,), 5))
    counts = torch.bincount(chosen.argmax(dim=-1), minlength=6).tolist()
    expected = [0.0, *left, *[0.0] * (4 - len(left)), 0.0]
    for count, share in zip(counts, expected, strict=True):
        assert abs(count - share * draws) <= 5 * math.sqrt(share * (1 - share) * draws)


# --- prompts


@pytest.mark.parametrize("template", [tiny_model.REFUSING_SYSTEM, tiny_model.DROPPING_SYSTEM])
def test_a_template_without_a_system_role_gets_both_texts_as_the_users(
    tmp_path: Path, llama: Path, template: str
) -> None:
    folder = tiny_model.save(tmp_path / "model", template=template)
    request = question(2)
    text = f"<bos><user>{request.prompt.system}\n\n{request.prompt.user}<end><model>"
    expected = tokenizer(folder)(text, add_special_tokens=False)["input_ids"]
    assert answers(made(folder), request)[0].input_tokens == len(expected)
    first, second = tokenizer(folder)("12", add_special_tokens=False)["input_ids"]
    scores = tiny_model.next_token_scores(
        folder, [*expected, *tokenizer(folder)("sentence_", add_special_tokens=False)["input_ids"]]
    )
    assert answers(made(folder), question(2, "enum"))[0].text == LABELS[int(scores[second] > scores[first])]


def test_a_prompt_too_long_for_the_model_is_refused_alone(tmp_path: Path) -> None:
    folder = tiny_model.save(tmp_path, positions=128)
    provider = made(folder)
    long = Request("compare", Prompt("You judge.", "likely " * 200, "v1"))

    async def ask() -> list[Any]:
        return list(
            await asyncio.gather(
                *map(provider.answer, [question(0), long, question(1)]), return_exceptions=True
            )
        )

    first, refused, last = asyncio.run(ask())
    assert [first, last] == one_by_one(made(folder), [question(0), question(1)])
    assert isinstance(refused, ProviderFailure)
    assert (refused.kind, refused.retryable) == ("rejected", False)
