"""The data under `resources/synthetic/` as typed, checked objects. Nothing here chooses or writes anything.

`knowledge()` reads the files once; a word that is missing from `findings.csv` or a site group that nobody
defines is a `ConfigurationError` at load, so that the vocabulary file that is written later is complete by
construction.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter

from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError

FIND = re.compile(r"\[\[(?P<hidden>[^\[\]]+)\]\]|\[(?P<shown>[^\[\]]+)\]")
"""A finding in the markup of statements.yaml; double brackets: it is not printed."""

PREPOSITION = re.compile(r"^(?:in|at|of|on|within) (?:the )?(?:both )?")


@dataclass(frozen=True, slots=True, eq=False)
class FindingTerm:
    """A finding of findings.csv, with its possible combinations.

    `kind`: mass (takes no article), count, plural (has no singular), authored (occurs in written-out
        statements only). `sites`: groups of sites.csv that it may stand in. `details`: group of details.yaml
        with its adjectives. `topics`: what a normal statement must not deny once the finding is mentioned.
    """

    words: str
    kind: str
    plural: str
    canonical: str
    cat: str
    sites: tuple[str, ...]
    details: str
    topics: frozenset[str]
    subcategory: str


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A place: adjectives before the noun, (phrase, cell) pairs after it, an abbreviation."""

    groups: frozenset[str]
    canonical: str
    before: tuple[str, ...]
    after: tuple[tuple[str, str], ...]
    short: str
    side: str
    level: str


@dataclass(frozen=True, slots=True, eq=False)
class HedgingPhrase:
    """A hedging phrase with its sentence templates by form; see hedges.yaml."""

    phrase: str
    uses: int
    tails: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    joins: tuple[str, ...] = ()
    negative: bool = False
    singular: bool = False
    plural: bool = False
    grave: bool = False
    bare: bool = False
    disorders: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if (self.singular or self.plural) and not self.clauses:
            raise ConfigurationError(
                f"resources/synthetic/hedges.yaml, {self.phrase}: asks for a "
                "number of the sign, so it needs clauses without a sign."
            )


@dataclass(frozen=True, slots=True, eq=False)
class Disorder:
    """A possible subject of a study; see disorders.yaml. `topics` are those of its findings."""

    name: str
    place: str
    weight: int
    order: int
    signs: dict[str, int]
    diagnoses: dict[str, int]
    settled: dict[str, int]
    variants: tuple[str, ...]
    extra: tuple[str, ...]
    definite: dict[str, int]
    symptoms: tuple[str, ...]
    question: tuple[str, ...]
    followers: tuple[str, ...]
    trends: tuple[str, ...]
    topics: frozenset[str]
    chronic: float = 0.0
    apart: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MarkedFinding:
    """A finding inside a statement's markup."""

    words: str
    status: str
    cells: dict[str, str]
    evidence: int
    shown: bool


@dataclass(frozen=True, slots=True, eq=False)
class StockStatement:
    """Sentences written out in full; `texts` by section (`text` when the section is open)."""

    texts: dict[str, str]
    order: int
    weight: int
    section: str
    portable: bool
    later: bool
    conflict: str
    topics: frozenset[str]


@dataclass(frozen=True, slots=True)
class Situation:
    """The circumstances of an examination, and its rows of image metadata; see views.yaml."""

    name: str
    per_block: int
    title: str
    procedure: tuple[str, str]
    images: tuple[tuple[str, str, str], ...]
    portable: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """The content of `resources/synthetic/`."""

    terms: dict[str, FindingTerm]
    sites: tuple[Site, ...]
    hedges: dict[str, HedgingPhrase]
    disorders: dict[str, Disorder]
    statements: dict[str, tuple[StockStatement, ...]]
    words: dict[str, list[str]]
    details: dict[str, dict[str, list[str]]]
    situations: tuple[Situation, ...]
    limits: dict[str, list[tuple[str, str]]]
    sizes: list[list[int]]
    remarks: tuple[StockStatement, ...]
    wording: dict[str, Any]

    def term(self, words: str) -> FindingTerm:
        """The term of a printed finding, singular or plural, any case."""
        return self.terms[words.lower()]

    def sites_of(self, group: str) -> list[Site]:
        return [site for site in self.sites if group in site.groups]


def yaml_of(path: Path) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loaded: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    return loaded


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def terms_of(path: Path) -> dict[str, FindingTerm]:
    terms: dict[str, FindingTerm] = {}
    for row in _rows(path):
        words, kind = row["term"], row["kind"]
        plural = row["plural"] or (f"{words}s" if kind == "count" else "")
        terms[words] = FindingTerm(
            words, kind, plural, row["canonical"] or words, row["cat"], tuple(row["sites"].split()),
            row["details"], frozenset(row["topics"].split()), row["subcategory"],
        )  # fmt: skip
        if plural:
            terms.setdefault(plural, terms[words])
    return terms


def _site(row: dict[str, str]) -> Site:
    before = tuple(part for part in row["before"].split("/") if part)
    after = []
    for part in (part for part in row["after"].split("/") if part):
        phrase, _, cell = part.partition("=")
        after.append((phrase, cell or PREPOSITION.sub("", phrase)))
    text = " ".join((row["canonical"], *before))
    side = next((side for side in ("bilateral", "left", "right") if re.search(rf"\b{side}", text)), "")
    levels = {"upper": r"upper|ape?x|apical", "lower": r"lower|base|basilar|basal", "middle": r"mid"}
    level = next((level for level, words in levels.items() if re.search(rf"\b(?:{words})", text)), "")
    return Site(
        frozenset(row["groups"].split()), row["canonical"], before, tuple(after), row["short"], side, level
    )


def _disorder(name: str, value: dict[str, Any], terms: dict[str, FindingTerm]) -> Disorder:
    about = {*value["signs"], *value["diagnoses"], *value["variants"]}
    place = f"disorders.yaml, {name}"
    _topics((*value["settled"], *value["symptoms"], *value["question"]), terms, place)
    return TypeAdapter(Disorder).validate_python(
        {**value, "name": name, "topics": _topics(about, terms, place)}
    )


def _topics(words: Iterable[str], terms: dict[str, FindingTerm], place: str) -> frozenset[str]:
    """The topics of findings, all of which must be in findings.csv."""
    words = set(words)
    if unknown := sorted(words - terms.keys()):
        raise ConfigurationError(
            f"resources/synthetic/{place}: {unknown} are not in findings.csv. Add them there."
        )
    return frozenset(topic for word in words for topic in terms[word].topics)


@lru_cache(maxsize=65_536)
def findings_in(text: str) -> tuple[MarkedFinding, ...]:
    """The findings of a marked text, in order: words|status|column=value; column=value."""
    found = []
    for match in FIND.finditer(text):
        words, *rest = (match["shown"] or match["hidden"]).split("|")
        status, *fields = (part.strip() for part in ";".join(rest).split(";"))
        cells = dict(part.split("=", 1) for part in fields)
        evidence = int(cells.pop("ev", "0"))
        found.append(MarkedFinding(words, status, cells, evidence, match["shown"] is not None))
    return tuple(found)


def statement(value: dict[str, Any], terms: dict[str, FindingTerm]) -> StockStatement:
    """A statement of statements.yaml.

    Its topics are those of its findings, about which the report then says nothing else.
    """
    texts: dict[str, str] = {key: value[key] for key in ("text", "find", "impr") if key in value}
    words = (mark.words.lower() for text in texts.values() for mark in findings_in(text))
    return StockStatement(
        texts, value["order"], value.get("weight", 1), value.get("section", "find"),
        bool(value.get("portable")), bool(value.get("later")), value.get("type", ""),
        _topics(words, terms, "statements.yaml").union(value.get("denies", ())),
    )  # fmt: skip


@cache
def knowledge() -> Knowledge:
    """Read and check the data files once per process."""
    folder = resource("synthetic")
    terms = terms_of(folder / "findings.csv")
    sites = tuple(_site(row) for row in _rows(folder / "sites.csv"))
    phrases = (item for kind in yaml_of(folder / "hedges.yaml").values() for item in kind.items())
    hedge = TypeAdapter(HedgingPhrase)
    hedges = {phrase: hedge.validate_python({"phrase": phrase, **value}) for phrase, value in phrases}
    disorders = {
        name: _disorder(name, value, terms) for name, value in yaml_of(folder / "disorders.yaml").items()
    }
    written = yaml_of(folder / "statements.yaml")
    words, remarks = written.pop("words"), written.pop("remarks")
    statements = {
        kind: tuple(statement(value, terms) for value in values) for kind, values in written.items()
    }
    for disorder in disorders.values():
        statements[f"followers of {disorder.name}"] = tuple(
            statement({"text": t, "order": disorder.order}, terms) for t in disorder.followers
        )
    views = yaml_of(folder / "views.yaml")
    limits = {kind: [_pair(text) for text in texts] for kind, texts in views["limits"].items()}
    groups = {group for site in sites for group in site.groups}
    for term in terms.values():
        if set(term.sites) - groups:
            raise ConfigurationError(
                f"resources/synthetic/findings.csv, {term.words}: "
                f"no site of sites.csv is in group {term.sites}."
            )
    return Knowledge(
        terms, sites, hedges, disorders, statements, words, yaml_of(folder / "details.yaml"),
        TypeAdapter(tuple[Situation, ...]).validate_python(views["situations"]), limits, views["sizes"],
        tuple(statement(value, terms) for value in remarks), yaml_of(folder / "wording.yaml"),
    )  # fmt: skip


def _pair(text: str) -> tuple[str, str]:
    said, _, cell = text.partition(" = ")
    return said, cell
