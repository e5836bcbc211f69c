"""A ledger key tells apart everything that decides an answer, and nothing else."""

from __future__ import annotations

import dataclasses
from typing import Any

from fake_model import BINDING, question
from hypothesis import given, settings
from hypothesis import strategies as st

from lunguage_assets.judges.ledger.attempts import request_key
from lunguage_assets.judges.requests import ModelBinding, Prompt, Request

_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-2, 2) | _TEXT,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(_TEXT, inner, max_size=2)
    ),
    max_leaves=3,
)
_PARAMETERS = st.dictionaries(_TEXT, _VALUE, max_size=3).map(
    lambda table: tuple(table.items())
)
_BINDING = st.builds(ModelBinding, _TEXT, _TEXT, _TEXT, _PARAMETERS, st.tuples(_TEXT))
_REQUEST = st.builds(
    Request,
    st.sampled_from(["extract", "compare", "structure"]),
    st.builds(Prompt, _TEXT, _TEXT, _TEXT),
    st.sampled_from(["text", "enum"]),
    st.lists(_TEXT, max_size=2).map(tuple),
    st.integers(0, 9),
    schema=st.one_of(st.just(""), _TEXT),
)


def _content(binding: ModelBinding, request: Request) -> str:
    """Everything that the key must tell apart, in a form that does not come from the
    key's code.
    """
    of_model = (
        binding.provider,
        binding.endpoint_class,
        binding.model,
        _typed(dict(binding.parameters)),
    )
    prompt = request.prompt.system, request.prompt.user, request.prompt.template_version
    plain = (
        request.task,
        request.mode,
        request.labels,
        request.replicate,
        request.schema,
    )
    return repr((of_model, prompt, plain))


def _typed(value: Any) -> Any:
    if isinstance(value, dict):
        return (
            "table",
            tuple(sorted((name, _typed(item)) for name, item in value.items())),
        )
    if isinstance(value, list | tuple):
        return ("list", tuple(map(_typed, value)))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ("number", repr(float(value) + 0.0))
    return (type(value).__name__, str(value))


@settings(deadline=None)
@given(_BINDING, _REQUEST, _BINDING, _REQUEST)
def test_two_keys_are_equal_exactly_when_everything_that_decides_the_answer_is(
    binding: ModelBinding,
    request: Request,
    other_binding: ModelBinding,
    other_request: Request,
) -> None:
    same_content = _content(binding, request) == _content(other_binding, other_request)
    assert (
        request_key(binding, request) == request_key(other_binding, other_request)
    ) == same_content


def test_neither_aliases_nor_the_order_of_parameters_are_in_the_key() -> None:
    renamed = dataclasses.replace(
        BINDING, aliases=("b",), parameters=BINDING.parameters[::-1]
    )
    assert request_key(BINDING, question(1)) == request_key(renamed, question(1))


def test_one_and_one_point_zero_are_one_setting_true_another() -> None:
    def key(value: object) -> str:
        return request_key(
            dataclasses.replace(BINDING, parameters=(("top_p", value),)), question(1)
        )

    assert key(1) == key(1.0)
    assert len({key(1), key(True), key("1"), key(None), key(0.5), key([1])}) == 6


def test_questions_of_the_method_keep_their_golden_keys() -> None:
    """Golden: a changed key would have every answer in every ledger paid again."""
    binding = ModelBinding(
        "openai", "openai", "gpt-x", (("max_tokens", 10), ("temperature", 1.0))
    )
    prompt = Prompt("s", "u", "v")
    compared = Request("compare", prompt, "enum", ("sentence_1", "sentence_2"), 3)
    assert (
        request_key(binding, compared)
        == "fb1599ace0bf94aa387db0394ca86be8596bb221e31b7c0ef55c6db3da5e4573"
    )
    extracted = Request("extract", prompt)
    assert (
        request_key(binding, extracted)
        == "990814bc298c7b1a2e5c12326fd45fd6809f29de920658ec8e6d789c61cb512d"
    )
