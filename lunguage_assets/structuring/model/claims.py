"""The form of a language model's answer about a report (method.md section 8).

What of it is believed is decided in `grounding.py`.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from lunguage_assets.packaged_data import resource
from lunguage_assets.structuring.contract import Account
from lunguage_assets.structuring.model.quotes import values_of
from lunguage_assets.tables.columns import CATEGORIES

_SCHEMA = json.loads(resource("structuring", "answer.json").read_text("utf-8"))
ANSWER_SCHEMA = json.dumps(_SCHEMA, separators=(",", ":"))
"""JSON schema of an answer, as a request carries it.

An answer is an object of `findings`, and of `sentences` that have none. Everything is
required and nothing else is allowed, because OpenAI's strict mode wants it so.
"""
_SENTENCE = _SCHEMA["properties"]["sentences"]["items"]["properties"]
ACCOUNTS = tuple(_SENTENCE["account"]["enum"])
"""What a sentence without findings may be said to be."""
REASONS = tuple(_SENTENCE["reason"]["enum"])
"""Why it has none: codes, which are shown where text is not."""

_FENCE = re.compile(r"^```[a-zA-Z]*\s*\n?(.*?)\n?\s*```$", re.DOTALL)


class Answer(BaseModel):
    """An answer whose entries are still to be read one by one."""

    findings: list[Any]
    sentences: list[Any]


def parse_answer(text: str) -> Answer | None:
    """Read the answer in a model's text, with or without one code fence around it.

    Returns:
        None where it is unreadable: other text, or a missing list.
    """
    body = _FENCE.sub(r"\1", text.strip())
    try:
        return Answer.model_validate_json(body)
    except ValidationError:
        return None


def plain_words(words: str) -> str:
    """Write words in lower case with single blanks."""
    return " ".join(words.split()).lower()


def _code_of(codes: tuple[str, ...], otherwise: str = "") -> BeforeValidator:
    """Accept a code in whatever letter case and spacing: a model may write "pf".

    Args:
        codes: that there are.
        otherwise: the code that another word stands for; empty: it is refused.
    """
    code_by_form = {plain_words(code): code for code in codes}

    def accepted(claimed: Any) -> str:
        code = code_by_form.get(plain_words(str(claimed)), otherwise)
        if not code:
            raise ValueError("no such code")
        return code

    return BeforeValidator(accepted)


class _Claim(BaseModel):
    # Errors hide the input, which has words of a report.
    model_config = ConfigDict(frozen=True, strict=True, hide_input_in_errors=True)


class AttributeClaim(_Claim):
    """An attribute's column, also under its published name, and its words."""

    column: str
    words: str


class FindingClaim(_Claim):
    """One entry of `findings`; what is left out is empty."""

    number: int = Field(gt=0, lt=10**6)
    sentence: str
    words: str
    name: str = ""
    category: Annotated[str, _code_of(CATEGORIES)]
    polarity: Annotated[str, _code_of(("positive", "negative"))]
    certainty: Annotated[str, _code_of(("definitive", "tentative"))]
    places: list[str] = []
    attributes: list[AttributeClaim] = []
    evidence: list[int] = []
    associate: list[int] = []

    @property
    def status(self) -> str:
        """Its code of `tables.STATUSES`."""
        return self.certainty[0] + self.polarity[0]

    @property
    def values(self) -> list[tuple[str, str]]:
        """Column and words of all values that are claimed of it, its places too."""
        places = [AttributeClaim(column="location", words=it) for it in self.places]
        return [
            (claim.column, words)
            for claim in (*places, *self.attributes)
            for words in values_of(claim.words)
        ]


class SentenceClaim(_Claim):
    """One entry of `sentences`."""

    sentence: str
    account: Annotated[Account, _code_of(ACCOUNTS)]
    reason: Annotated[str, _code_of(REASONS, "other")] = "other"
