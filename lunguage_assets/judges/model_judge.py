"""A language model as a judge: questions become prompts by templates that a person may replace, an asker gets
the answers, and they are read strictly: what is not exactly an answer is none, and nothing is ever evaluated
(explicit.md sections 1 and 2).

A folder of templates has `extraction/` and `comparison/`, each with `system.txt` and `user.txt`. Places for
the question are `$finding` and `$sentence`, or `$sentence_1` and `$sentence_2`, in `user.txt`; a dollar sign
is written `$$`. The content of all four files gives the version, which is part of every ledger key.
"""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.asking.asker import Asker
from lunguage_assets.judges.ledger.attempts import model_identity, request_key
from lunguage_assets.judges.protocol import (
    Choice,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.judges.requests import Mode, ModelBinding, Prompt, Request
from lunguage_assets.packaged_data import resource

LABELS = ("sentence_1", "sentence_2")
"""The allowed answers of a comparison."""

_PLACES: Mapping[tuple[str, str], frozenset[str]] = {
    ("extraction", "system"): frozenset(),
    ("extraction", "user"): frozenset({"finding", "sentence"}),
    ("comparison", "system"): frozenset(),
    ("comparison", "user"): frozenset({"sentence_1", "sentence_2"}),
}

_LABEL = re.compile(r"^[A-Za-z][\w /-]{0,40}:\s*")
_FENCE = re.compile(r"^```[a-zA-Z]*\s*\n?(.*?)\n?\s*```$", re.DOTALL)
_AROUND = " \t\r\n.,;:!*`'\"“”‘’()[]<>"
_ANSWER = re.compile(r"^answer\s*:\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prompts:
    """Templates of both tasks, ready to be filled; `version` is 12 hexadecimal digits of their content's
    hash.
    """

    version: str
    templates: Mapping[tuple[str, str], string.Template] = field(repr=False)

    def extraction(self, question: ExtractionQuestion) -> Request:
        """Which words of the sentence hedge this finding? The sentence is shown unmasked, as in the paper
        (explicit.md section 1). A free list cannot be constrained to labels, so its mode is always `text`.
        """
        asked = {"finding": question.finding, "sentence": question.sentence}
        return Request("extract", self._filled("extraction", asked))

    def comparison(self, question: ComparisonQuestion, mode: Mode = "text") -> Request:
        """Which of two masked sentences is closer to "finding certainly present" (explicit.md section 2)?"""
        asked = {"sentence_1": question.sentence_1, "sentence_2": question.sentence_2}
        return Request(
            "compare",
            self._filled("comparison", asked),
            mode,
            LABELS,
            question.replicate,
        )

    def _filled(self, task: str, texts: Mapping[str, str]) -> Prompt:
        # a line break would end the sentence in the prompt
        one_line = {name: " ".join(text.split()) for name, text in texts.items()}
        system, user = self.templates[task, "system"], self.templates[task, "user"]
        return Prompt(system.substitute(), user.substitute(one_line), self.version)


def load_prompts(folder: Path | None = None) -> Prompts:
    """The templates in `folder`, or the bundled ones; a folder replaces all four files.

    Raises:
        ConfigurationError: a file is missing, is not UTF-8, or lacks a place for the question; names the
            file.
    """
    return Prompts(*read_templates(folder or resource("prompts"), _PLACES))


def read_templates(
    root: Path, places_of: Mapping[tuple[str, str], frozenset[str]]
) -> tuple[str, dict[tuple[str, str], string.Template]]:
    """Version and templates of the files `root/TASK/ROLE.txt`, each with exactly its places to fill.

    Raises:
        ConfigurationError: see `load_prompts`.
    """
    if not root.is_dir():
        # Not what was found: the variable may hold a key by mistake, and messages go into logs.
        raise ConfigurationError(
            "the folder of your prompts ($LUNGUAGE_PROMPTS) is not there; expected a folder such as "
            "resources/prompts. Fix or unset it."
        )
    digest, templates = hashlib.sha256(), {}
    for (task, role), places in places_of.items():
        file = root / task / f"{role}.txt"
        try:
            text = "\n".join(file.read_text(encoding="utf-8-sig").splitlines()).strip()
        except (OSError, UnicodeDecodeError) as error:
            problem = f"cannot be read as UTF-8 text ({type(error).__name__}). Put a prompt template there."
            raise ConfigurationError(f"{file}: {problem}") from None
        template = templates[task, role] = string.Template(text)
        found = set(template.get_identifiers())
        if not text or not template.is_valid() or found != places:
            expected, named = (
                ", ".join(f"${name}" for name in sorted(names))
                for names in (places, found)
            )
            raise ConfigurationError(
                f"{file}: found {'places' if text else 'an empty file'} {named or '(none)'}; expected a "
                f"prompt with {expected or 'no places to fill'}. Write a dollar sign as $$."
            )
        digest.update(f"{task}/{role}\x1f{len(text)}\x1f{text}\x1e".encode())
    return digest.hexdigest()[:12], templates


class ModelJudge:
    """A language model as a judge; several threads may ask at once."""

    def __init__(self, asker: Asker, prompts: Prompts, mode: Mode = "text") -> None:
        self.key, self.identity = (
            asker.key,
            self.identity_of(asker.binding, prompts, mode),
        )
        self.interrupt = asker.interrupt
        self._asker, self._prompts, self._mode = asker, prompts, mode

    @staticmethod
    def identity_of(binding: ModelBinding, prompts: Prompts, mode: Mode) -> str:
        """What changes the answers of a slot that nobody has opened: everything in a ledger key but the
        question.
        """
        # of both tasks: one version since the first release
        versions = json.dumps([prompts.version, prompts.version])
        blank = Request("compare", Prompt("", "", versions), mode, LABELS)
        return model_identity(binding, mode, request_key(binding, blank))

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        """Phrases per question, in the questions' order.

        Raises:
            LunguageError: see `Asker.ask`, or none of many answers can be read; what was answered is in the
                ledger.
        """
        found = self._asker.ask(
            [self._prompts.extraction(one) for one in questions], parse_phrase_list
        )
        self._asker.require_readable(found)
        return [
            ExtractionAnswer(tuple(phrases or ()), phrases is not None)
            for phrases in found
        ]

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]:
        """A label per question, in the questions' order; errors as in `extract`."""
        requests = [self._prompts.comparison(one, self._mode) for one in questions]
        found = self._asker.ask(requests, choice_of)
        self._asker.require_readable(found)
        return [cast(Choice, choice or "invalid") for choice in found]


def choice_of(text: str) -> Choice | None:
    """The sentence that an answer chooses; None: it cannot be read."""
    return cast(Choice | None, parse_label(text, LABELS))


def parse_phrase_list(text: str) -> list[str] | None:
    """The JSON list of strings in a model's answer, or None when there is none: the answer is then invalid.

    A leading label ("Answer: [...]") and one code fence around the list are tolerated; anything else, such as
    a Python list in single quotes, text after the list or a list with something else than strings, is not.
    Never evaluated.
    """
    body = text.strip()
    for _ in range(2):  # a label may stand before the fence or inside it
        body = _LABEL.sub("", body, count=1)
        fenced = _FENCE.match(body)
        body = fenced.group(1).strip() if fenced else body
    try:
        value = json.loads(body)
        if not isinstance(value, list) or not all(
            isinstance(item, str) for item in value
        ):
            return None
        "".join(
            value
        ).encode()  # half a surrogate pair is valid JSON and cannot be stored
    except (ValueError, RecursionError):
        return None
    return value


def parse_label(text: str, labels: Sequence[str]) -> str | None:
    """The one of `labels` that a model's answer is, or None: the answer is then invalid.

    Quotes, brackets, emphasis and punctuation around it, upper or lower case, and a leading "Answer:" are
    tolerated; a second label, a reason, or any other word is not.
    """
    body = _ANSWER.sub("", text.strip(_AROUND), count=1).strip(_AROUND).casefold()
    return next((label for label in labels if label.casefold() == body), None)
