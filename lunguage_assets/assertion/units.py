"""Units: the known spellings of a sentence, and the edges from cues to units.

What belongs here: what a unit is, what cues have said of it, and looking at its
neighbours. Which cue reaches which unit is decided in `claims.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal, NamedTuple

from lunguage_assets.assertion.categories import (
    Category,
    Meant,
)
from lunguage_assets.assertion.cues import Cue, Shown
from lunguage_assets.assertion.vocabulary import Kind, LexiconEntry
from lunguage_assets.assertion.word_files import WORDS

JOINTS: frozenset[Kind] = frozenset({"and", "comma", "alternative"})
"""What joins the members of a list."""
OWN_WORDS: frozenset[Kind] = frozenset(
    {"word", "place", "anatomy", "abnormal", "other"}
)
"""What stands between a word and the finding that it is said of."""
DEVICE = "OTH"
"""Category of devices, operations and procedures."""
LIMITATION = LexiconEntry("word", code="assessment_limitations")
"""What limits the view."""
UNKNOWN = LexiconEntry("other")

_LONGEST_CLAUSE = 40
_NEAR = 8
_ADJECTIVE_ENDS = tuple(WORDS["adjective_ends"])

Negation = Literal["", "definite", "doubtful"]


class Edge(NamedTuple):
    """A cue that reaches a unit.

    Attributes:
        cue: id.
        begin, end: characters of the cue in the sentence.
        category: of the cue; whoever asks may call it otherwise (`named.py`).
    """

    cue: str
    begin: int
    end: int
    category: str


@dataclass(eq=False, slots=True)
class TaggedToken:
    """A known spelling of a sentence, or an unknown word.

    Attributes:
        sense: its meaning.
        form: its first word, in the form in which words are compared.
        begin, end: its characters.
        kind, name, code, cue: of its meaning; a rule may change the column alone.
        negation: whether it is denied, and how surely.
        is_hedged: whether it is left open.
        past: the unit that says that it is past.
        aside: why it is not said of the patient now; empty where it is.
        edges: the cues that reached it.
        has_spoken: of a cue, whether it reached something, or changed another cue.
        unanswered: units of its clause that nothing answered for (`unanswered.py`).
        is_definite: whether "the" or "this" stands right before it.
        is_single_word: of a place, whether it is one word.
        noun: of a place of several words, the last one ("zone").
    """

    sense: LexiconEntry
    form: str
    begin: int
    end: int
    kind: Kind = field(init=False)
    name: str = field(init=False)
    code: str = field(init=False)
    cue: Cue = field(init=False)
    negation: Negation = ""
    is_hedged: bool = False
    past: TaggedToken | None = None
    aside: str = ""
    edges: list[Edge] = field(default_factory=list)
    has_spoken: bool = False
    unanswered: tuple[TaggedToken, ...] = ()
    is_definite: bool = False
    is_single_word: bool = True
    noun: TaggedToken | None = None

    def __post_init__(self) -> None:
        self.become(self.sense)

    def become(self, sense: LexiconEntry) -> None:
        """Take another meaning."""
        self.sense = sense
        self.kind = sense.kind
        self.name = sense.name
        self.code = sense.code
        self.cue = sense.cue

    def copy(self) -> TaggedToken:
        """Copy its words and meaning, without what any cue has said of it."""
        return TaggedToken(self.sense, self.form, self.begin, self.end)

    def is_of(self, *categories: Category) -> bool:
        """Whether it is a cue of one of these categories."""
        return self.cue.category in categories

    @property
    def doubts(self) -> bool:
        """Whether, as a denial, it denies with doubt ("unlikely")."""
        return self.is_of("doubted", "mimic")

    @property
    def meant(self) -> Meant:
        """What its cues come to (`categories.PRECEDENCE`)."""
        if self.aside:
            return "aside"
        if self.past is not None and self.past.kind == "ended":
            return "ended"
        if self.past is not None:
            return "past"
        if self.negation == "doubtful":
            return "doubted"
        if self.negation:
            return "negated"
        if self.is_hedged:
            return "hedged"
        return "asserted"

    @property
    def shown(self) -> Shown:
        """How it is meant, unless something beside it is unanswered."""
        is_certain = self.meant in ("asserted", "negated", "ended")
        return "unanswered" if self.unanswered and is_certain else self.meant

    def negate(self, by: TaggedToken, *, with_doubt: bool) -> None:
        """Deny it, unless something nearer has done so; of two, the doubt stays."""
        if not self.negation:
            self.negation = "doubtful" if with_doubt else "definite"
            self.note(by)
        elif with_doubt:
            self.doubt_denial(by)

    def leave_open(self, by: TaggedToken) -> None:
        """Leave it open; where it is denied, the denial.

        A hedge inside a denial changes nothing ("no possible effusion").
        """
        if not self.negation:
            self.is_hedged = True
            self.note(by)
            return
        # "Likely no effusion", "an effusion is probably not present": a hedge that
        # stands before the denial doubts it.
        # "Edema, as opposed to infection, is suspected" is said of the edema.
        is_contrast = self.edges[0].cue == "doubted.rather_than"
        # "Unclear whether it has resolved" is open, "possible pneumonia has resolved"
        # is not.
        is_understood = self.past is None or by.cue.reach == "next"
        by.has_spoken |= is_understood and not is_contrast
        # "No time for a lateral view, so effusion is not ruled out."
        is_behind = by.begin > self.begin and not is_contrast
        is_predicate = self.past is None and is_behind
        if is_predicate or by.end <= self.edges[0].begin:
            self.doubt_denial(by)

    def doubt_denial(self, by: TaggedToken) -> None:
        """Make a denial one with doubt.

        "The possible effusion has resolved": it has gone, unlike what "has probably
        resolved".
        """
        is_of_end = self.past is None or by.begin > self.begin
        by.has_spoken |= is_of_end
        if self.negation == "definite" and is_of_end:
            self.negation = "doubtful"
            self.note(by)

    def edge_as(self, category: str) -> Edge:
        """Make its edge, as a cue, under a category."""
        return Edge(self.cue.id, self.begin, self.end, category)

    def note(self, by: TaggedToken) -> None:
        """Note the cue that has said something of it."""
        by.has_spoken = True
        if by.cue.id:
            self.edges.append(by.edge_as(by.cue.category))


def has_kind(units: Iterable[TaggedToken], *searched: Kind) -> bool:
    """Whether any unit is of one of these kinds."""
    return any(unit.kind in searched for unit in units)


def first_beyond(
    units: Iterable[TaggedToken], skipped: Collection[str]
) -> TaggedToken | None:
    """Find the first unit that is of none of these kinds."""
    return next((unit for unit in units if unit.kind not in skipped), None)


def kind_beyond(units: Iterable[TaggedToken], skipped: Collection[str]) -> str:
    """Find the kind of the first unit that is of none of these kinds; empty: none."""
    return next((unit.kind for unit in units if unit.kind not in skipped), "")


def kind_at(units: Sequence[TaggedToken], at: int) -> str:
    """Find the kind of the unit at a position; empty: beyond the sentence."""
    return units[at].kind if 0 <= at < len(units) else ""


def rest_of_clause(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Take the units behind one, up to the next break."""
    behind = units[at + 1 :]
    return list(takewhile(lambda unit: unit.kind != "break", behind))


def own_words(units: list[TaggedToken], finding: TaggedToken) -> list[TaggedToken]:
    """List the words right before a finding that are said of it, and its own."""
    at = units.index(finding)
    before = reversed(units[max(0, at - _NEAR) : at])
    return [*takewhile(lambda unit: unit.kind in OWN_WORDS, before), finding]


def clause_before(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Take the units before one, the nearest first, up to a break."""
    before = reversed(units[max(0, at - _LONGEST_CLAUSE) : at])
    return list(takewhile(lambda unit: unit.kind != "break", before))


def is_adjective(unit: TaggedToken) -> bool:
    """Whether a finding is said of a part of the body: "the lungs are hyperexpanded".

    "Granulomatous disease" is none, although its first word is an adjective.
    """
    if unit.kind != "finding" or not unit.is_single_word:
        return False
    return unit.form.endswith(_ADJECTIVE_ENDS)
