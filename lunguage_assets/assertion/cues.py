"""Cues: words that say how a mention is meant, as data with examples.

A cue is an entry of a file of `resources/assertion/`, or of a home's own `cues.yaml`.
The engine knows categories, directions and reaches; which words have which stands in
the files alone, with examples that show what each cue gives and how far it reaches.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator

from lunguage_assets.data_files import read_as, resource
from lunguage_assets.errors import ConfigurationError

Category = Literal[
    "negated",         # "no", "without": absent
    "doubted",         # "no definite", "unlikely": absent, with doubt
    "ended",           # "has resolved", "no longer seen": absent now, there before
    "hedged",          # "possible", "may represent": left open
    "alternative",     # "or", "versus": one of several
    "question",        # "rule out" of a request: left open
    "setting",         # "in the right clinical setting": open, unless said
    "past",            # "history of": not now
    "examination",     # "on the prior CT": seen there, perhaps not here
    "examined",        # "radiograph", "ultrasound": names of examinations
    "recommendation",  # "recommend", "correlate": asked for, not seen
    "repositioning",   # "consider advancing": asked for, of a device that is there
    "aim",             # "to exclude": what an examination is for
    "condition",       # "if", "unless": not said of now
    "relative",        # "mother had": somebody else
    "device_part",     # "tip", "side port": when it is not seen, the device is there
    "limitation",      # "cannot be assessed": neither there nor absent
    "mimic",           # "simulates", "due to projection": it only looks like that
    "reservation",     # "a small one could be missed": what was denied is not certain
]  # fmt: skip
"""What a cue does to what it reaches."""

Direction = Literal["behind", "before"]
"""Where what is reached stands, seen from the cue: "no" reaches behind."""

Reach = Literal["next", "list", "clause", "sentence"]
"""How far: what follows directly, what is joined to it, its clause, all."""

Meant = Literal[
    "asserted", "hedged", "doubted", "negated", "ended", "past", "aside"
]  # fmt: skip
"""How an example's mention is meant; `aside`: nothing is said of the patient now."""

FILES = ("negation", "hedges", "time", "asides", "contextual")
_REMEDY = (
    "The header of resources/assertion/negation.yaml explains the fields of a cue."
)


class Example(BaseModel):
    """An invented sentence, and how mentions in it are meant, by their words."""

    model_config = ConfigDict(frozen=True)

    text: str
    meant_by_mention: dict[str, Meant]

    @model_validator(mode="before")
    @classmethod
    def _gather_mentions(cls, entry: object) -> object:
        """Read `{text: ..., effusion: negated}`: every key but `text` is a mention."""
        if not isinstance(entry, dict) or "text" not in entry:
            return entry
        mentions = {str(key): meant for key, meant in entry.items() if key != "text"}
        return {"text": entry["text"], "meant_by_mention": mentions}


class Cue(BaseModel):
    """Words that say how a mention is meant.

    Attributes:
        id: category and a name of its own ("negated.no_evidence"); stands in the rows.
        patterns: spellings; "(a|b|)" are alternatives, `adverb` is any word in -ly.
        not_after: forms that do not stand directly before it.
        not_before: forms that do not stand directly behind it.
        sections: codes of the sections in which it counts; empty: in all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z_]+\.[a-z0-9_]+$")
    category: Category
    patterns: tuple[str, ...] = ()
    direction: Direction = "behind"
    reach: Reach = "list"
    not_after: frozenset[str] = frozenset()
    not_before: frozenset[str] = frozenset()
    sections: frozenset[Literal["hist", "find", "impr"]] = frozenset()
    examples: tuple[Example, ...]


class CueFile(RootModel[list[Cue]]):
    """The entries of a cue file; later ones replace earlier ones."""


def cue_path(name: str) -> Path:
    """Find `resources/assertion/NAME.yaml`."""
    return resource("assertion", f"{name}.yaml")


def read_cues(path: Path) -> tuple[Cue, ...]:
    """Read a file of cues.

    Raises:
        ConfigurationError: an unknown category, field or form; names file, line, field.
    """
    cues = tuple(read_as(path, CueFile, _REMEDY).root)
    known: set[str] = set()
    for cue in cues:
        if cue.id in known:
            raise ConfigurationError(
                f"{path}: two cues have the id {cue.id!r}; rename the second."
            )
        known.add(cue.id)
    return cues


@cache
def bundled_cues() -> tuple[Cue, ...]:
    """Read the cues of `resources/assertion/`."""
    return tuple(cue for name in FILES for cue in read_cues(cue_path(name)))


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
