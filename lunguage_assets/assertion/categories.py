"""What a cue does, by its category: the one place for it, and for what wins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Category = Literal[
    "negated", "doubted", "ended", "partial", "hedged", "alternative", "setting",
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
    "negated", "negated before", "ended", "partial", "partial before", "hedged",
    "hedged before", "alternative",
    "question", "past", "examination", "examined", "recommendation", "aim", "condition",
    "relative", "limitation", "limitation before", "reservation",
    "mimic before",
    "other",
]  # fmt: skip
"""What a spelling is for the rules; `other` is an unknown word."""

Direction = Literal["behind", "before", "both"]
"""Where what is reached stands, seen from the cue: "no" reaches behind.

`both` looks behind, and before only where nothing stands behind: "suspected edema",
"edema is suspected". For what ends something it is the other way round: "the effusion
has resolved", "resolved effusion".
"""

Reach = Literal["next", "list", "clause", "sentence"]
"""How far: what follows directly, what is joined to it, its clause, all."""

Meant = Literal["asserted", "hedged", "doubted", "negated", "ended", "past", "aside"]
"""How a mention is meant; `aside`: nothing is said of the patient now."""

PRECEDENCE: tuple[Meant, ...] = (
    "aside", "past", "ended", "negated", "doubted", "hedged", "asserted",
)  # fmt: skip
"""What a mention is that cues of several categories reach: the first of these.

Between `negated` and `doubted` the cue decides that reached it first: the one before
it, else the one behind it. A hedge that is itself denied says nothing ("not suspicious
for").
"""


class CategoryRule(NamedTuple):
    """What cues of a category do.

    Attributes:
        makes: how a mention is meant that they reach; empty: they reach none by
            themselves.
        says: the same in a sentence, with an example.
        directions: that a cue may have, the usual one first; empty: it has no such
            field.
        reaches: the same of its reach.
        reason: why it sets aside, as a sentence without rows tells it.
        spares: codes of findings that it does not set aside.
        kind: of its words for the rules; empty: the category's own name.
        kind_before: the same where a cue looks before it alone; empty: no other.
    """

    makes: Meant | Literal[""]
    says: str
    directions: tuple[Direction, ...] = ()
    reaches: tuple[Reach, ...] = ()
    reason: str = ""
    spares: frozenset[str] = frozenset()
    kind: Kind | Literal[""] = ""
    kind_before: Kind | Literal[""] = ""


_AROUND: tuple[Direction, ...] = ("behind", "before", "both")
_LISTS: tuple[Reach, ...] = ("list", "next")
_CLAUSES: tuple[Reach, ...] = ("clause", "sentence")

CATEGORIES: Mapping[Category, CategoryRule] = {
    "negated": CategoryRule(
        "negated",
        'It is absent: "no effusion".',
        _AROUND,
        _LISTS,
        kind_before="negated before",
    ),
    "doubted": CategoryRule(
        "doubted",
        'It is absent, with doubt: "no definite effusion".',
        _AROUND,
        _LISTS,
        kind="negated",
        kind_before="negated before",
    ),
    "ended": CategoryRule(
        "ended",
        'It was there and is not now: "the effusion has resolved".',
        ("both", "behind", "before"),
        _LISTS,
    ),
    "partial": CategoryRule(
        "asserted",
        'What is said to end has not ended: "has nearly resolved".',
        ("behind", "before"),
        kind_before="partial before",
    ),
    "hedged": CategoryRule(
        "hedged",
        'It is left open: "possible effusion". With the reach `clause` also what is '
        'denied or ends there: "unclear whether it has resolved".',
        _AROUND,
        ("list", "next", "clause"),
        kind_before="hedged before",
    ),
    "alternative": CategoryRule(
        "hedged", 'It is one of several: "edema or pneumonia".', ("both",), ("list",)
    ),
    "setting": CategoryRule(
        "hedged",
        'It is left open where no other cue does: "pneumonia in the right setting".',
        ("before",),
        ("list",),
        kind="hedged before",
    ),
    "question": CategoryRule(
        "",
        'A request asks for it, so that it is open: "rule out edema" under History. '
        'Elsewhere it is an aim. It counts where the words mean nothing else.',
    ),
    "past": CategoryRule(
        "past", 'It is of the past: "history of pneumonia".', ("behind",), _LISTS
    ),
    "examination": CategoryRule(
        "past",
        'It was seen at another time, where the sentence tells so: "the CT showed".',
        ("both",),
        ("clause",),
    ),
    "examined": CategoryRule(
        "", 'A name of an examination: an aim behind it begins there ("CT to exclude").'
    ),
    "recommendation": CategoryRule(
        "aside",
        'It is asked for, and not seen: "recommend CT".',
        ("both",),
        _CLAUSES,
        reason="recommendation",
    ),
    "repositioning": CategoryRule(
        "aside",
        'The same, of a device, which is there: "consider advancing the tube".',
        ("both",),
        _CLAUSES,
        reason="recommendation",
        spares=frozenset({"OTH"}),
        kind="recommendation",
    ),
    # "Film for vomiting", "before surgery": why it was taken, and true.
    "aim": CategoryRule(
        "aside",
        'An examination is for it: "to exclude".',
        ("behind",),
        _CLAUSES,
        reason="recommendation",
        spares=frozenset({"OTH", "PATIENT INFO."}),
    ),
    "condition": CategoryRule(
        "aside",
        'It is said of a case only: "if fever".',
        ("behind",),
        _CLAUSES,
        reason="condition",
    ),
    "relative": CategoryRule(
        "aside",
        'It is said of somebody else: "mother had".',
        ("behind",),
        ("sentence", "clause"),
        reason="somebody else",
    ),
    "device_part": CategoryRule(
        "",
        'A part of a device; that it is not seen denies nothing: "tip not seen".',
        kind="other",
    ),
    "limitation": CategoryRule(
        "aside",
        'It is neither there nor absent: "pneumothorax cannot be assessed".',
        ("behind", "before"),
        ("list",),
        reason="not assessed",
        kind_before="limitation before",
    ),
    "mimic": CategoryRule(
        "doubted",
        'Something only looks like it: "a skin fold simulates a pneumothorax".',
        ("behind", "before"),
        _LISTS,
        kind="negated",
        kind_before="mimic before",
    ),
    "reservation": CategoryRule(
        "doubted",
        'That it is denied is not certain: "though a small one could be missed".',
    ),
    "harmless": CategoryRule(
        "",
        'Words that leave nothing open, although they are of no list: "than before".',
        kind="other",
    ),
}  # fmt: skip
"""The categories of cues; an entry of the data that says another thing is refused."""
