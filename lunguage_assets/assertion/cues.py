"""Cues: words that say how a mention is meant, as data with examples.

A cue is an entry of a file of `resources/assertion/`, or of a home's `assertion.yaml`.
The engine knows categories, directions and reaches (`categories.py`); which words have
which stands in the files alone, with examples that show what each cue gives and how far
it reaches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator

from lunguage_assets.assertion.categories import (
    CATEGORIES,
    Category,
    CategoryRule,
    Direction,
    Meant,
    Reach,
)
from lunguage_assets.assertion.tokens import bundled_tokenizer, groups_of
from lunguage_assets.errors import ConfigurationError, did_you_mean
from lunguage_assets.packaged_data import read_as, resource, wrong_at

FILES = ("negation", "hedges", "time", "asides", "contextual")
MOST_WORDINGS = 10_000
"""Of one pattern: brackets behind brackets multiply."""

LONGEST_PATTERN = 1_000
"""Characters; several patterns read better than one with all wordings."""
_DEEPEST_BRACKETS = 5
MOST_CUES = 2_000
"""Of one file: they are read, and their examples run, within a second."""
_FIELDS_OF_WORDS = (
    "ends_at", "not_after", "not_before", "only_after", "after_any", "before_any",
)  # fmt: skip
_REMEDY = (
    "The header of resources/assertion/negation.yaml explains the fields of a cue; "
    'words such as "no" need quotes.'
)
_NO_FIELD = ("no such field, as all cues of the category are alike in it",)
_OF_ALTERNATIVES = re.compile("[()|]")
_SHOWN = 60
"""Characters of a word or pattern that an error repeats."""


class Example(BaseModel):
    """An invented sentence, and how mentions in it are meant, by their words.

    Attributes:
        text: the sentence.
        section: code of the section in which it is read.
        meant_by_mention: words -> how they are meant; once for each mention that stands
            on these characters (a sentence may speak twice of a word).
    """

    model_config = ConfigDict(frozen=True)

    text: str
    section: Literal["hist", "find", "impr"] = "find"
    meant_by_mention: dict[str, tuple[Meant, ...]] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _gather_mentions(cls, entry: object) -> object:
        """Read `{text: ..., effusion: negated}`: what is no field is a mention."""
        if not isinstance(entry, dict) or "meant_by_mention" in entry:
            return entry
        fields: dict[str, object] = {}
        meant_by_mention: dict[str, tuple[object, ...]] = {}
        for key, value in entry.items():
            if key in ("text", "section"):
                fields[key] = value
            elif isinstance(value, list):
                meant_by_mention[str(key)] = tuple(value)
            else:
                meant_by_mention[str(key)] = (value,)
        return {**fields, "meant_by_mention": meant_by_mention}


class Cue(BaseModel):
    """Words that say how a mention is meant.

    Attributes:
        id: category and a name of its own ("negated.no_evidence"); stands in the rows.
        patterns: spellings; "(a|b|)" are alternatives, `adverb` is any word in -ly.
            None: a rule of the engine names the cue and says which words are it.
        direction: where what it reaches stands; left out: as is usual in its category.
        reach: how far; left out: as is usual in its category.
        ends_at: words at which its reach ends, besides what ends any reach.
        not_after: words that do not stand directly before it.
        not_before: words that do not stand directly behind it.
        only_after: words one of which stands directly before it.
        after_any: words one of which stands earlier in its clause.
        before_any: words one of which stands later in its clause.
        begins: whether it counts at the begin of a clause only.
        sections: codes of the sections in which it counts; empty: in all.
        examples: what it gives.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z_]+\.[a-z0-9_]+$", max_length=60)
    category: Category
    patterns: tuple[str, ...] = ()
    direction: Direction = "behind"
    reach: Reach = "list"
    ends_at: frozenset[str] = frozenset()
    not_after: frozenset[str] = frozenset()
    not_before: frozenset[str] = frozenset()
    only_after: frozenset[str] = frozenset()
    after_any: frozenset[str] = frozenset()
    before_any: frozenset[str] = frozenset()
    begins: bool = False
    sections: frozenset[Literal["hist", "find", "impr"]] = frozenset()
    examples: tuple[Example, ...] = Field(min_length=1)

    @property
    def is_conditional(self) -> bool:
        """Whether it counts beside some words, or in some sections, only."""
        beside = (
            self.not_after | self.not_before | self.only_after
            | self.after_any | self.before_any
        )  # fmt: skip
        return bool(beside or self.sections or self.begins)

    @model_validator(mode="before")
    @classmethod
    def _settle_fields(cls, entry: object) -> object:
        """Complete direction and reach by the category; refuse what it has not."""
        if not isinstance(entry, dict) or "category" not in entry:
            return entry
        name = f"cue {entry.get('id')!r}"
        rule = _rule_of(entry["category"], name)
        name = f"{name} ({entry['category']})"
        # Of a category whose cues reach nothing by themselves, nothing can end.
        if entry.get("ends_at") and not rule.reaches:
            raise _unexpected("ends_at", name, entry["ends_at"], _NO_FIELD)
        settled = dict(entry)
        allowed_by_field = {"direction": rule.directions, "reach": rule.reaches}
        for field, allowed in allowed_by_field.items():
            if field in entry and entry[field] not in allowed:
                raise _unexpected(field, name, entry[field], allowed or _NO_FIELD)
            if allowed:
                usual = allowed[0]
                settled.setdefault(field, usual)
        return settled

    @model_validator(mode="after")
    def _check_patterns(self) -> Cue:
        for number, pattern in enumerate(self.patterns):
            fault = _fault_of_pattern(pattern)
            if fault:
                problem = f"cue {self.id!r}: found {pattern[:_SHOWN]!r}, {fault}"
                raise wrong_at(("patterns", number), problem)
        return self


def _rule_of(category: object, entry: str) -> CategoryRule:
    """Find what cues of a category do; refuse a category that there is not."""
    for name, rule in CATEGORIES.items():
        if name == category:
            return rule
    raise _unexpected("category", entry, category, CATEGORIES)


def _unexpected(
    field: str, entry: str, value: object, expected: Iterable[str]
) -> Exception:
    """Make the error of a value that is none of those expected.

    Args:
        field: that has the value.
        entry: name of the cue.
        value: as written.
        expected: what it may be.
    """
    words = tuple(expected)
    nearest = did_you_mean(str(value), words)
    quoted = repr(str(value)[:_SHOWN])
    problem = f"{entry}: found {quoted}, expected {' or '.join(words)}.{nearest}"
    return wrong_at((field,), problem)


def _fault_of_pattern(pattern: str) -> str:
    """Say what is wrong with a pattern, and what was expected; empty: nothing."""
    if len(pattern) > LONGEST_PATTERN:
        return f"of more than {LONGEST_PATTERN:,} characters; expected several patterns"
    fault = _fault_of_brackets(pattern)
    if fault:
        return fault
    words = _OF_ALTERNATIVES.sub(" ", pattern)
    unseen = bundled_tokenizer().unseen(words)
    if unseen:
        return f"with {unseen!r}, which is read in no report; expected words and signs"
    groups = groups_of(pattern)
    wordings = prod(len(group) for group in groups)
    if wordings > MOST_WORDINGS:
        return f"with more than {MOST_WORDINGS:,} wordings; expected several patterns"
    if all(_may_be_empty(group) for group in groups):
        return "of which a wording is empty; expected words in each"
    return ""


def _may_be_empty(group: list[str]) -> bool:
    return any(not choice.strip() for choice in group)


def _fault_of_brackets(pattern: str) -> str:
    depth = 0
    for sign in pattern:
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
        elif sign == "|" and depth == 0:
            return "with '|' outside brackets; expected \"(a|b)\""
        if depth > _DEEPEST_BRACKETS:
            return f"with brackets {depth} deep; expected at most {_DEEPEST_BRACKETS}"
        if depth < 0:
            return "where ')' closes nothing; expected a bracket for each"
    if depth > 0:
        return "where '(' is not closed; expected a bracket for each"
    return ""


class CueFile(RootModel[list[Cue]]):
    """The entries of a cue file."""

    @model_validator(mode="before")
    @classmethod
    def _count_entries(cls, entries: object) -> object:
        """Refuse more entries than are read in a moment, before any is read."""
        if isinstance(entries, list) and len(entries) > MOST_CUES:
            problem = f"found {len(entries):,} entries, expected {MOST_CUES:,} at most"
            raise wrong_at((), problem)
        return entries


def cue_path(name: str) -> Path:
    """Find `resources/assertion/NAME.yaml`."""
    return resource("assertion", f"{name}.yaml")


def read_cues(path: Path, taken: Iterable[str] = ()) -> tuple[Cue, ...]:
    """Read a file of cues.

    Args:
        path: of the file.
        taken: ids that cues of other files have.

    Raises:
        ConfigurationError: an unknown category or field, a pattern that cannot be read,
            an id that is taken; names file, line, entry, what was found and expected.
    """
    cues = read_as(path, CueFile, _REMEDY).root
    ids = set(taken)
    for cue in cues:
        if cue.id in ids:
            raise ConfigurationError(
                f"{path}: found the id {cue.id!r} twice, or in a bundled file too; "
                "expected an id of its own for each cue. Rename this one."
            )
        ids.add(cue.id)
    return tuple(_in_compared_forms(cue, path) for cue in cues)


def _in_compared_forms(cue: Cue, path: Path) -> Cue:
    """Bring the words beside a cue to the forms in which words are compared."""
    forms_by_field: dict[str, Any] = {}
    for field in _FIELDS_OF_WORDS:
        words = getattr(cue, field)
        if not words:
            continue
        address = f"{path}, cue {cue.id!r}, field {field}"
        forms_by_field[field] = frozenset(_form_of(word, address) for word in words)
    if not forms_by_field:
        return cue
    return cue.model_copy(update=forms_by_field)


def _form_of(word: str, address: str) -> str:
    """Bring a word to its form; refuse several, naming where they stand."""
    tokens = bundled_tokenizer().tokens(f" {word} ")
    if len(tokens) != 1:
        raise ConfigurationError(
            f"{address}: found {word[:_SHOWN]!r}, expected one word. {_REMEDY}"
        )
    return tokens[0].form


@cache
def bundled_cues() -> tuple[Cue, ...]:
    """Read the cues of `resources/assertion/`."""
    cues: list[Cue] = []
    for name in FILES:
        ids = [cue.id for cue in cues]
        cues += read_cues(cue_path(name), taken=ids)
    return tuple(cues)


@cache
def cue_named(cue_id: str) -> Cue:
    """Find a bundled cue that a rule of the engine names.

    Raises:
        ConfigurationError: it is in no file.
    """
    for cue in bundled_cues():
        if cue.id == cue_id:
            return cue
    raise ConfigurationError(
        f"{cue_path(FILES[0]).parent}: no cue is called {cue_id!r}; a rule names it, "
        "so that it is expected. Restore it."
    )
