"""What a cue does, by its category: the one place for it, and for what wins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, RootModel

from lunguage_assets.packaged_data import read_as, resource

Category = Literal[
    "negated", "doubted", "ended", "hedged", "alternative", "setting",
    "question", "past", "examination", "examined", "recommendation", "repositioning",
    "aim", "condition", "relative", "device_part", "limitation", "mimic", "reservation",
    "harmless",
]  # fmt: skip
"""What a cue does to what it reaches; `CATEGORIES` says more."""

Kind = Literal[
    # what something can be said of, and words that say something of it
    "finding", "anatomy", "place", "word", "abnormal", "normal",
    # grammar
    "break", "copula", "seen", "link", "preposition", "with", "article", "and", "comma",
    # cues, by category; doubt is a negation, and a setting a hedge
    "negated", "negated before", "ended", "hedged",
    "hedged before", "alternative",
    "question", "past", "examination", "examined", "recommendation", "aim", "condition",
    "relative", "reservation",
    "other",
]  # fmt: skip
"""What a spelling is for the rules; `other` is an unknown word."""

Direction = Literal["behind", "before", "both"]
"""Where what is reached stands, seen from the cue: "no" reaches behind.

`both` looks behind, and before only where nothing stands behind: "suspected edema",
"edema is suspected". For what ends something it is the other way round: "the effusion
has resolved", "resolved effusion".
"""

Reach = Literal["next", "list", "clause"]
"""How far: what follows directly, what is joined to it, its clause."""

Meant = Literal["asserted", "hedged", "doubted", "negated", "ended", "past", "aside"]
"""How a mention is meant; `aside`: nothing is said of the patient now."""

PRECEDENCE: tuple[Meant, ...] = (
    "aside", "past", "ended", "doubted", "negated", "hedged", "asserted",
)  # fmt: skip
"""What a mention is that cues of several categories reach: the first of these.

A hedge that is itself denied says nothing ("not suspicious for").
"""


class CategoryRule(BaseModel, frozen=True, extra="forbid"):
    """What cues of a category do; the head of categories.yaml explains the fields."""

    says: str
    makes: Meant | Literal[""] = ""
    directions: tuple[Direction, ...] = ()
    reaches: tuple[Reach, ...] = ()
    reason: str = ""
    spares: frozenset[str] = frozenset()
    kind: Kind | Literal[""] = ""
    kind_before: Kind | Literal[""] = ""
    code: str = ""
    must_reach: bool = False


CATEGORIES: Mapping[Category, CategoryRule] = read_as(
    resource("assertion", "categories.yaml"), RootModel[dict[Category, CategoryRule]]
).root
"""The categories of cues; an entry of the data that says another thing is refused."""
