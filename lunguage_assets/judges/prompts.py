"""How the two questions of the method are put to a language model, from template files that a person may
replace.

A folder of templates has `extraction/` and `comparison/`, each with `system.txt` and `user.txt`. Places for
the question are `$finding` and `$sentence`, or `$sentence_1` and `$sentence_2`, in `user.txt`; a dollar sign
is written `$$`. The content of all four files gives the version, which is part of every ledger key.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.protocol import ComparisonQuestion, ExtractionQuestion
from lunguage_assets.judges.requests import Mode, Prompt, Request

LABELS = ("sentence_1", "sentence_2")
"""The allowed answers of a comparison."""

_PLACES: Mapping[tuple[str, str], frozenset[str]] = {
    ("extraction", "system"): frozenset(),
    ("extraction", "user"): frozenset({"finding", "sentence"}),
    ("comparison", "system"): frozenset(),
    ("comparison", "user"): frozenset({"sentence_1", "sentence_2"}),
}


@dataclass(frozen=True, slots=True)
class Prompts:
    """Templates of both tasks, ready to be filled; `version` is 12 hexadecimal digits of their content's
    hash.
    """

    version: str
    templates: Mapping[tuple[str, str], string.Template] = field(repr=False)

    def extraction(self, question: ExtractionQuestion) -> Prompt:
        """Which words of the sentence hedge this finding? The sentence is shown unmasked, as in the paper
        (explicit.md section 1).
        """
        return self._filled("extraction", finding=question.finding, sentence=question.sentence)

    def comparison(self, question: ComparisonQuestion) -> Prompt:
        """Which of two masked sentences is closer to "finding certainly present" (explicit.md section 2)?"""
        return self._filled("comparison", sentence_1=question.sentence_1, sentence_2=question.sentence_2)

    def _filled(self, task: str, **texts: str) -> Prompt:
        # a line break would end the sentence in the prompt
        one_line = {name: " ".join(text.split()) for name, text in texts.items()}
        return Prompt(
            self.templates[task, "system"].substitute(),
            self.templates[task, "user"].substitute(one_line),
            self.version,
        )


def extraction_request(prompt: Prompt) -> Request:
    """How an extraction is asked; a free list cannot be constrained to labels, so its mode is always
    `text`.
    """
    return Request("extract", prompt)


def comparison_request(prompt: Prompt, mode: Mode, replicate: int) -> Request:
    """How a comparison is asked; `replicate` numbers repeated draws of one question."""
    return Request("compare", prompt, mode, LABELS, replicate)


def load_prompts(folder: Path | None = None) -> Prompts:
    """The templates in `folder`, or the bundled ones; a folder replaces all four files.

    Raises:
        ConfigurationError: a file is missing, is not UTF-8, or lacks a place for the question; names the
            file.
    """
    root = folder if folder is not None else resource("prompts")
    return Prompts(*read_templates(root, _PLACES))


def read_templates(
    root: Path, places_of: Mapping[tuple[str, str], frozenset[str]]
) -> tuple[str, dict[tuple[str, str], string.Template]]:
    """Version and templates of the files `root/TASK/ROLE.txt`, each with exactly its places to fill.

    Raises:
        ConfigurationError: see `load_prompts`.
    """
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
            expected, named = (", ".join(f"${name}" for name in sorted(names)) for names in (places, found))
            raise ConfigurationError(
                f"{file}: found {'places' if text else 'an empty file'} {named or '(none)'}; expected a "
                f"prompt with {expected or 'no places to fill'}. Write a dollar sign as $$."
            )
        digest.update(f"{task}/{role}\x1f{len(text)}\x1f{text}\x1e".encode())
    return digest.hexdigest()[:12], templates
