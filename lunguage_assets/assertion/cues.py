"""Cues: words that say how a mention is meant, as data with examples.

A cue is an entry of a file of `resources/assertion/`, or of a home's `assertion.yaml`.
The engine knows categories, directions and reaches (`categories.py`); which words have
which stands in the files alone, with examples that show what each cue gives and how far
it reaches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache, cached_property
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    RootModel,
    ValidationInfo,
    model_validator,
)

from lunguage_assets.assertion.categories import (
    CATEGORIES,
    Category,
    CategoryRule,
    Direction,
    Meant,
    Reach,
)
from lunguage_assets.assertion.tokens import (
    BRACKETS,
    WORD_OR_SIGN,
    choices_of,
    forms_of,
)
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.packaged_data import read_as, resource, wrong_at

FILES = ("negation", "hedges", "time", "asides", "contextual")
MOST_WORDINGS = 10_000
"""Of one pattern: brackets behind brackets multiply."""
_REMEDY = (
    "The header of resources/assertion/negation.yaml explains the fields of a cue; "
    'words such as "no" need quotes.'
)
_BETWEEN_WORDS = " \t\n-–"
"""Signs that only separate words, and are no tokens themselves."""
_SHOWN = 60
"""Characters of a word or pattern that an error repeats."""
_NO_RULE = CategoryRule(says="")


Shown = Meant | Literal["unanswered"]
"""What an example may give; `unanswered`: nothing is certain beside the cue."""


def _as_list(meant: object) -> object:
    return meant if isinstance(meant, list | tuple) else [meant]


class Example(BaseModel, frozen=True, extra="allow"):
    """An invented sentence, and how mentions in it are meant, by their words.

    What is no field is a mention: `{text: ..., effusion: negated}`.

    Attributes:
        text: the sentence.
        section: code of the section in which it is read.
    """

    __pydantic_extra__: dict[
        str, Annotated[tuple[Shown, ...], BeforeValidator(_as_list)]
    ]
    text: str
    section: Literal["hist", "find", "impr"] = "find"

    @property
    def meant_by_mention(self) -> dict[str, tuple[Shown, ...]]:
        """Words -> how they are meant; once for each mention that stands on them.

        A sentence may speak twice of a word.
        """
        return self.__pydantic_extra__


def _compared(words: frozenset[str], info: ValidationInfo) -> frozenset[str]:
    """Bring single words to the forms in which words are compared."""
    forms: set[str] = set()
    for word in words:
        forms_of_word = forms_of(word)
        if len(forms_of_word) != 1:
            raise _refused(info, word, "expected one word")
        forms.add(forms_of_word[0])
    return frozenset(forms)


def _readable(patterns: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    for pattern in patterns:
        fault = _fault_of_pattern(pattern)
        if fault:
            raise _refused(info, pattern, fault)
    return patterns


def _refused(info: ValidationInfo, value: str, fault: str) -> Exception:
    entry = f"cue {info.data.get('id')!r}"
    return wrong_at((), f"{entry}: found {value[:_SHOWN]!r}, {fault}")


def _fault_of_pattern(pattern: str) -> str:
    """Say what is wrong with a pattern, and what was expected; empty: nothing."""
    if set("(|)").intersection(BRACKETS.sub("", pattern)):
        return 'with "(", "|" or ")" beside brackets; expected "(a|b) c", none nested'
    words = pattern.lower().replace("|", " ")
    unread = WORD_OR_SIGN.sub("", words).strip(_BETWEEN_WORDS)
    if unread:
        return f"with {unread!r}, which is read in no report; expected words and signs"
    choices = choices_of(pattern)
    if prod(map(len, choices)) > MOST_WORDINGS:
        return f"with more than {MOST_WORDINGS:,} wordings; expected several patterns"
    if all(any(not word.strip() for word in part) for part in choices):
        return "of which a wording is empty; expected words in each"
    return ""


WordsBeside = Annotated[frozenset[str], AfterValidator(_compared)]
"""Single words beside a cue, in the forms in which words are compared."""


class Cue(BaseModel, frozen=True, extra="forbid"):
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
        only_after: words one of which stands directly before it; "." also stands
            before a sentence.
        after_any: words one of which stands earlier in its clause.
        before_any: words one of which stands later in its clause.
        sections: codes of the sections in which it counts; empty: in all.
        examples: what it gives.
    """

    id: str = Field(pattern=r"^[a-z_]+\.[a-z0-9_]+$", max_length=60)
    category: Category
    patterns: Annotated[tuple[str, ...], AfterValidator(_readable)] = ()
    direction: Direction = "behind"
    reach: Reach = "list"
    ends_at: WordsBeside = frozenset()
    not_after: WordsBeside = frozenset()
    not_before: WordsBeside = frozenset()
    only_after: WordsBeside = frozenset()
    after_any: WordsBeside = frozenset()
    before_any: WordsBeside = frozenset()
    sections: frozenset[Literal["hist", "find", "impr"]] = frozenset()
    examples: tuple[Example, ...] = Field(min_length=1)

    @cached_property
    def rule(self) -> CategoryRule:
        """What its category does."""
        return CATEGORIES.get(self.category, _NO_RULE)

    @cached_property
    def makes(self) -> Meant | Literal[""]:
        """What it makes of what it reaches."""
        return self.rule.makes

    @property
    def denies(self) -> bool:
        """Whether it denies what it reaches, surely or with doubt."""
        return self.makes in ("negated", "doubted")

    @cached_property
    def is_conditional(self) -> bool:
        """Whether it counts beside some words, or in some sections, only."""
        conditions = (
            self.not_after, self.not_before, self.only_after,
            self.after_any, self.before_any, self.sections,
        )  # fmt: skip
        return any(conditions)

    @model_validator(mode="before")
    @classmethod
    def _settle_fields(cls, entry: Any) -> Any:
        """Complete direction and reach by the category; refuse what it has not."""
        if not isinstance(entry, dict):
            return entry
        settled = dict(entry)
        category = str(entry.get("category"))
        # An unknown category is refused by its field.
        rule = CATEGORIES.get(category, _NO_RULE)  # type: ignore[call-overload]
        allowed = {"direction": rule.directions, "reach": rule.reaches}
        for field, values in allowed.items():
            if values:
                settled.setdefault(field, values[0])
            if field in settled and settled[field] not in values:
                value = str(settled[field])[:_SHOWN]
                expected = " or ".join(values) or "no such field in this category"
                problem = f"({category}): found {value!r}, expected {expected}."
                raise wrong_at((field,), f"cue {entry.get('id')!r} {problem}")
        return settled


NO_CUE = Cue.model_construct(id="", category="")
"""Of words that are no cue."""


def read_cues(path: Path, other_ids: Iterable[str] = ()) -> tuple[Cue, ...]:
    """Read a file of cues.

    Args:
        path: of the file.
        other_ids: ids that cues of other files have.

    Raises:
        ConfigurationError: an unknown category or field, a pattern that cannot be read,
            an id that is taken; names file, line, entry, what was found and expected.
    """
    cues = read_as(path, RootModel[list[Cue]], _REMEDY).root
    ids = Counter([*other_ids, *(cue.id for cue in cues)])
    for cue_id, count in ids.items():
        if count > 1:
            raise ConfigurationError(
                f"{path}: found the id {cue_id!r} twice, or in a bundled file too; "
                "expected an id of its own for each cue. Rename this one."
            )
    return tuple(cues)


@cache
def bundled_cues() -> tuple[Cue, ...]:
    """Read the cues of `resources/assertion/`."""
    paths = [resource("assertion", f"{name}.yaml") for name in FILES]
    return tuple(cue for path in paths for cue in read_cues(path))


@cache
def cue_named(cue_id: str) -> Cue:
    """Find a bundled cue that a rule of the engine names."""
    return next(cue for cue in bundled_cues() if cue.id == cue_id)
