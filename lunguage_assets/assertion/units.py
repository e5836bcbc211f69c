"""Units: the known spellings of a sentence, and the edges from cues to units.

What belongs here: what a unit is, what cues have said of it, and looking at its
neighbours. Which cue reaches which unit is decided in `claims.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from lunguage_assets.assertion.categories import PRECEDENCE, Category, Meant
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
NEAR = 8
"""Units that are looked through for what belongs together."""


class Edge(NamedTuple):
    """A cue that reaches a unit.

    Attributes:
        begin, end: characters of the cue in the sentence.
        cue: id.
        category: of the cue; whoever asks may call it otherwise (`named.py`).
    """

    begin: int
    end: int
    cue: str
    category: str


@dataclass(eq=False, slots=True)
class TaggedToken:
    """A known spelling of a sentence, or an unknown word.

    Attributes:
        sense: its meaning.
        form: its first word, in the form in which words are compared.
        begin, end: its characters.
        kind, name, code, cue: of its meaning; a rule may change the column alone.
        meanings: what cues say of it, with the cue that said it last.
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
    meanings: dict[Meant, TaggedToken] = field(default_factory=dict)
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
        return next((it for it in PRECEDENCE if it in self.meanings), "asserted")

    @property
    def shown(self) -> Shown:
        """How it is meant, unless something beside it is unanswered."""
        is_certain = self.meant in ("asserted", "negated", "ended")
        return "unanswered" if self.unanswered and is_certain else self.meant

    @property
    def denial(self) -> TaggedToken | None:
        """What says that it is not there now, surely or not."""
        said = self.meanings.get
        return said("negated") or said("doubted") or said("ended")

    @property
    def is_denied(self) -> bool:
        """Whether it is not there now, surely or not."""
        return self.denial is not None

    @property
    def past(self) -> TaggedToken | None:
        """The words that say that it is past, or gone."""
        return self.meanings.get("past") or self.meanings.get("ended")

    @property
    def aside(self) -> str:
        """Why it is not said of the patient now; empty where it is."""
        by = self.meanings.get("aside")
        return by.cue.rule.reason if by else ""

    def mark(self, meant: Meant, by: TaggedToken) -> None:
        """Note what a cue says of it."""
        self.meanings[meant] = by
        by.has_spoken = True
        if by.cue.id:
            self.edges.append(by.edge_as(by.cue.category))

    def edge_as(self, category: str) -> Edge:
        """Make its edge, as a cue, under a category."""
        return Edge(self.begin, self.end, self.cue.id, category)


Units = list[TaggedToken]
"""The units of a sentence, or some of them, in order."""


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


def rest_of_clause(units: Units, at: int) -> Units:
    """Take the units behind one, up to the next break."""
    behind = units[at + 1 : at + _LONGEST_CLAUSE]
    return list(takewhile(lambda unit: unit.kind != "break", behind))


def own_words(units: Units, finding: TaggedToken) -> Units:
    """List the words right before a finding that are said of it, and its own."""
    at = units.index(finding)
    before = reversed(units[max(0, at - NEAR) : at])
    return [*takewhile(lambda unit: unit.kind in OWN_WORDS, before), finding]


def clause_before(units: Units, at: int) -> Units:
    """Take the units before one, the nearest first, up to a break."""
    before = reversed(units[max(0, at - _LONGEST_CLAUSE) : at])
    return list(takewhile(lambda unit: unit.kind != "break", before))


def is_adjective(unit: TaggedToken) -> bool:
    """Whether a finding is said of a part of the body: "the lungs are hyperexpanded".

    "Granulomatous disease" is none, although its first word is an adjective.
    """
    ends = tuple(WORDS["adjective_ends"])
    return unit.kind == "finding" and unit.is_single_word and unit.form.endswith(ends)
