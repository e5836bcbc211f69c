"""One name for every finding and place (implicit.md section 3).

The delivered vocabulary is joined with the built-in forms of `resources/terms.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

import pandas as pd
from pydantic import BaseModel, ConfigDict

from lunguage_assets.assertion.plurals import Singulars
from lunguage_assets.caches import remembered
from lunguage_assets.packaged_data import read_as, resource
from lunguage_assets.tables.columns import CATEGORIES

_WORD = re.compile(r"[^\W_]+")
_DASHES = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d", "-")
    | {"\u2019": "'", "\u00ad": ""}
)


class BuiltInForms(BaseModel):
    """`resources/terms.yaml`: form -> spellings; the header of the file says where each group applies."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    words: dict[str, list[str]]
    findings: dict[str, list[str]]
    whole: dict[str, list[str]]
    locations: dict[str, list[str]]
    plurals: dict[str, list[str]]
    invariable: list[str]


@cache
def built_in_forms() -> BuiltInForms:
    """The packaged `terms.yaml`; no spelling in it has two forms."""
    return read_as(
        resource("terms.yaml"),
        BuiltInForms,
        "The header of the file explains its form.",
    )


@remembered
def plain(text: str) -> str:
    """The form in which terms are compared: lower case, one kind of dash and apostrophe, single blanks, no
    punctuation at the ends.
    """
    return " ".join(text.translate(_DASHES).lower().split()).strip(" .,;:")


def category_code(written: str) -> str | None:
    """The category code that a cell means ("patient info" is PATIENT INFO.), or None."""
    code = " ".join(written.upper().split())
    code = "PATIENT INFO." if code == "PATIENT INFO" else code
    return code if code in CATEGORIES else None


def _by_spelling(*groups: Mapping[str, list[str]]) -> dict[str, str]:
    """Plain spelling -> plain form."""
    return {
        plain(spelling): plain(form)
        for group in groups
        for form, spellings in group.items()
        for spelling in spellings
    }


class _Spellings:
    """Spellings that are replaced anywhere in a text, as whole words, the longest first."""

    def __init__(self, *groups: Mapping[str, list[str]]) -> None:
        known = _by_spelling(*groups).items()
        self.forms = {spelling.replace("-", " "): form for spelling, form in known}
        longest_first = sorted(
            self.forms, key=lambda spelling: (-len(spelling), spelling)
        )
        patterns = [
            re.escape(spelling).replace(r"\ ", r"[ -]") for spelling in longest_first
        ]
        self._pattern = re.compile(
            r"(?<![^\W_])(?:" + "|".join(patterns) + r")(?![^\W_])\.?"
        )

    def replaced(self, text: str) -> str:
        return self._pattern.sub(
            lambda found: self.forms[found.group().rstrip(".").replace("-", " ")], text
        )


class Vocabulary:
    """Canonical names of findings and places, idempotent, whatever the order of the vocabulary's rows."""

    def __init__(
        self, terms: Iterable[tuple[str, str, str]], forms: BuiltInForms
    ) -> None:
        """Build the vocabulary from `terms`: (category, target_term, normed_term); attributes are unused."""
        findings: dict[str, set[str]] = {}
        locations: dict[str, set[str]] = {}
        self._categories: dict[str, set[str]] = {}
        for category, target, normed in terms:
            spelling, form = plain(target), plain(normed)
            code = category_code(category)
            if not spelling or not form:
                continue
            if code is not None:
                findings.setdefault(spelling, set()).add(form)
                self._categories.setdefault(spelling, set()).add(code)
                self._categories.setdefault(form, set()).add(code)
            elif category.strip().lower() == "location":
                locations.setdefault(spelling, set()).add(form)
        self._singulars = Singulars(forms.plurals, forms.invariable)
        self._whole = _by_spelling(forms.whole)
        self._in_findings = _Spellings(forms.words, forms.findings)
        self._in_locations = _Spellings(forms.words, forms.locations)
        self._findings = {
            spelling: _one_of(spelling, found) for spelling, found in findings.items()
        }
        self._locations = {
            spelling: _one_of(spelling, found) for spelling, found in locations.items()
        }
        self._known_finding = remembered(self._settled_finding)
        self._known_places = remembered(self._settled_places)
        self._spellings: dict[str, list[str]] = {}

    @classmethod
    def from_terms(cls, terms: pd.DataFrame) -> Vocabulary:
        """From a `tables.TERMS` frame; an empty one leaves the built-in forms."""
        columns = (
            terms[name].tolist() for name in ("category", "target_term", "normed_term")
        )
        return cls(zip(*columns, strict=True), built_in_forms())

    def finding(self, ent: str) -> str:
        """The canonical name of a finding; of an unknown one lower case, single blanks and the singular."""
        return self._known_finding(ent)

    def _settled_finding(self, ent: str) -> str:
        return self._settled(plain(ent), self._findings, self._in_findings, self._whole)

    def location_parts(self, location: str) -> tuple[str, ...]:
        """The set of places in a location cell: canonical comma parts, sorted and distinct."""
        return self._known_places(location)

    def word_forms(self, word: str) -> set[str]:
        """Singular and plurals of one word, lower case."""
        return self._singulars.with_plurals(plain(word))

    def category(self, name: str) -> str | None:
        """The category code under which the vocabulary lists a finding; None for none or several."""
        for form in (plain(name), self.finding(name)):
            codes = self._categories.get(form, set())
            if len(codes) == 1:
                return next(iter(codes))
        return None

    def spellings(self, name: str) -> tuple[str, ...]:
        """All known spellings of a finding, longest first, the canonical form among them."""
        if not self._spellings:
            known = set[str]()
            for forms in (self._findings, self._whole, self._in_findings.forms):
                known.update(forms, forms.values())
            for spelling in sorted(
                known, key=lambda spelling: (-len(spelling), spelling)
            ):
                self._spellings.setdefault(self.finding(spelling), []).append(spelling)
        form = self.finding(name)
        return tuple(self._spellings.get(form, (form,)))

    def _settled_places(self, location: str) -> tuple[str, ...]:
        """Canonical places of a cell, until nothing changes: a canonical place with a comma is several."""
        path: list[tuple[str, ...]] = []
        found = _pieces([location])
        while found not in path:
            path.append(found)
            found = _pieces(
                self._settled(place, self._locations, self._in_locations, {})
                for place in found
            )
        return min(path[path.index(found) :])

    def _settled(
        self,
        text: str,
        delivered: Mapping[str, str],
        spellings: _Spellings,
        whole: Mapping[str, str],
    ) -> str:
        """Apply the delivered and the built-in forms until nothing changes; of a circle ("a" is "b", "b" is
        "a") the first in alphabetical order stands for all.
        """
        path: list[str] = []
        while text not in path:
            path.append(text)
            text = delivered.get(text, text)
            text = plain(self._singulars.of_text(spellings.replaced(text)))
            text = whole.get(text, text)
        return min(path[path.index(text) :])


def _pieces(cells: Iterable[str]) -> tuple[str, ...]:
    """The plain comma parts of cells, sorted and distinct."""
    return tuple(
        sorted(
            {piece for cell in cells for piece in map(plain, cell.split(",")) if piece}
        )
    )


def _one_of(spelling: str, forms: set[str]) -> str:
    """The canonical form of a spelling with several: itself when it is one, else the alphabet's first."""
    return spelling if spelling in forms else min(forms)
