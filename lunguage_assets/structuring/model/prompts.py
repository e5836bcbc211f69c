"""How a report is put to a language model, from template files that a person may replace.

`structuring/` beside the templates of the other questions has `system.txt`; `user.txt` with a place for the
`$sentences`; and `repair.txt`, the second question, with places for the first `$question`, the `$answer` to
it and what was `$refused`. Their content gives a version of its own: a changed word asks about reports anew,
and about nothing else. A folder of templates without `structuring/` takes the bundled ones.
"""

from __future__ import annotations

import json
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lunguage_assets.data_files import resource
from lunguage_assets.judges.prompts import read_templates
from lunguage_assets.judges.requests import Mode, Prompt, Request
from lunguage_assets.structuring.contract import Sentence
from lunguage_assets.structuring.model.schema import ANSWER_SCHEMA

_TASK = "structuring"
_PLACES: Mapping[tuple[str, str], frozenset[str]] = {
    (_TASK, "system"): frozenset(),
    (_TASK, "user"): frozenset({"sentences"}),
    (_TASK, "repair"): frozenset({"question", "answer", "refused"}),
}


def sentence_id(sentence: Sentence) -> str:
    """How a prompt names a sentence: its section and its number there, such as `find:2`."""
    return f"{sentence.section}:{sentence.number}"


@dataclass(frozen=True, slots=True)
class StructuringPrompts:
    """The templates, ready to be filled; `version` is 12 hexadecimal digits of their content's hash."""

    version: str
    templates: Mapping[tuple[str, str], string.Template] = field(repr=False)

    def question(self, sentences: Sequence[Sentence]) -> Prompt:
        """What does this report state?

        Each sentence is one line of JSON, so that no report can end its own quotation.
        """
        said = ({"id": sentence_id(one), "text": " ".join(one.text.split())} for one in sentences)
        lines = "\n".join(json.dumps(line, ensure_ascii=False) for line in said)
        return self._prompt(self.templates[_TASK, "user"].substitute(sentences=lines))

    def repair(self, question: Prompt, answer: str | None, refused: Sequence[str]) -> Prompt:
        """The second question: the first one, what was answered (None: nothing that can be read), and what is
        wrong with it, point by point.
        """
        points = refused if answer is not None else ["the answer is not one JSON object of the form above"]
        return self._prompt(
            self.templates[_TASK, "repair"].substitute(
                question=question.user,
                answer=answer if answer is not None else "(not readable)",
                refused="\n".join(f"- {point}" for point in points),
            )
        )

    def _prompt(self, user: str) -> Prompt:
        return Prompt(self.templates[_TASK, "system"].substitute(), user, self.version)


def structuring_request(prompt: Prompt, mode: Mode) -> Request:
    """How a report is asked about; only where the provider is told the schema is it part of the question."""
    return Request("structure", prompt, mode, schema=ANSWER_SCHEMA if mode == "enum" else "")


def load_structuring_prompts(folder: Path | None = None) -> StructuringPrompts:
    """The templates in `folder`, or the bundled ones.

    Raises:
        ConfigurationError: as in `judges.prompts.load_prompts`.
    """
    own = folder is not None and (folder / _TASK).is_dir()
    return StructuringPrompts(*read_templates(folder if own and folder else resource("prompts"), _PLACES))
