"""The data of varied prose: resources/synthetic/varied over resources/synthetic. Nothing is chosen here."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from lunguage_assets.data_files import resource
from lunguage_assets.sample.knowledge import Disorder, FindingTerm, Knowledge, Site, knowledge, statement
from lunguage_assets.sample.knowledge import terms_of as read_terms
from lunguage_assets.sample.knowledge import yaml_of as read_yaml

_LIMITS = ("single view", "patient rotation", "overlying soft tissue", "portable study", "radiographs alone")
_PREPOSITION = re.compile(r"^(?:in|at|of|on|within) (?:the )?")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a report is laid out; see layout.yaml."""

    name: str
    weight: int
    case: str
    own_line: bool
    margin: int
    width: int
    final: bool
    label: bool
    organs: bool = False
    capitals: bool = False
    headings: bool = True


@cache
def varied_knowledge(style: str = "full") -> Knowledge:
    """What the varied prose of one style can say: finding names, places and grammar are the sample's own."""
    base = knowledge()
    folder = resource("synthetic", "varied")
    terms = base.terms | read_terms(folder / "findings.csv")
    written = read_yaml(folder / "statements.yaml")
    remarks = written.pop("remarks")
    statements = {
        kind: tuple(statement(value, terms) for value in values) for kind, values in written.items()
    }
    followers = {
        kind: tuple(one for one in said if not _unprinted(one.texts["text"]))
        for kind, said in base.statements.items()
        if kind.startswith("followers of ")
    }
    if style == "telegraphic":
        statements["normal"] = statements["brief"]
    return replace(
        base,
        terms=terms,
        details=base.details | read_yaml(folder / "details.yaml"),
        limits={kind: [one for one in limits if one[1] in _LIMITS] for kind, limits in base.limits.items()},
        sites=tuple(_quoted(site) for site in base.sites),
        disorders={name: _common(disorder) for name, disorder in base.disorders.items()},
        statements=statements | followers,
        remarks=tuple(statement(value, terms) for value in remarks),
        wording=_wording(base, read_yaml(folder / "wording.yaml"), style),
    )


@cache
def layout_data() -> dict[str, Any]:
    """The content of layout.yaml."""
    return read_yaml(resource("synthetic", "varied", "layout.yaml"))


@cache
def layouts() -> tuple[Layout, ...]:
    """The layouts of raw reports."""
    return tuple(Layout(**value) for value in layout_data()["layouts"])


def _wording(base: Knowledge, varied: dict[str, Any], style: str) -> dict[str, Any]:
    wording: dict[str, Any] = (
        base.wording | varied["full"] | (varied["telegraphic"] if style == "telegraphic" else {})
    )
    wording["history"] = base.wording["history"] | wording["history"]
    wording["proportions"] = base.wording["proportions"] | varied["proportions"]
    wording |= {key: varied[key] for key in ("modifiers", "amounts", "denied")}
    wording["denials"] = varied["denials"][style]
    return wording


def _quoted(site: Site) -> Site:
    """The site with cells that quote its phrases: 'at both lung bases' is 'both lung bases'."""
    return replace(site, after=tuple((phrase, _PREPOSITION.sub("", phrase)) for phrase, _ in site.after))


def _common(disorder: Disorder) -> Disorder:
    """The disorder without the rare names that the pathways' tests need, and words that no row records."""
    extra = tuple(words for words in disorder.extra if words not in ("early", "occult"))
    return replace(disorder, variants=(), extra=extra)


def _unprinted(text: str) -> bool:
    """Whether a statement of the plain prose has cells that its words do not print."""
    return any(mark in text for mark in ("location=", "morphology=", "measurement=", "|dp] is mild"))


def split_term(term: FindingTerm, known: Knowledge) -> tuple[FindingTerm, str, str] | None:
    """The term of the bare noun, the modifier and its column, where the name has a modifier in front."""
    for modifier, column in known.wording["modifiers"].items():
        rest = term.words.removeprefix(f"{modifier} ")
        if rest != term.words and rest in known.terms:
            return known.terms[rest], modifier, column
    return None
