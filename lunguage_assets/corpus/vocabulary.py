"""One name for every finding and location (implicit.md section 3).

The delivered vocabulary is joined with the built-in forms of `resources/terms.yaml`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from typing import Any

import pandas as pd
from pydantic import RootModel

from lunguage_assets.assertion.plurals import in_singular
from lunguage_assets.caches import remembered
from lunguage_assets.packaged_data import read_as, resource
from lunguage_assets.tables.columns import CATEGORIES
from lunguage_assets.tables.values import values_of

_TO_ASCII = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d", "-")
    | {"\u2019": "'", "\u00ad": ""}
)
"""For one sort of dash and apostrophe, and no soft hyphen."""


_CODES = {code.rstrip("."): code for code in CATEGORIES}


@cache
def built_in_forms() -> dict[str, Any]:
    """Read spellings by form (`resources/terms.yaml`), by where they apply.

    The header of the file says where each group does; no spelling in it has two forms.
    """
    return read_as(resource("terms.yaml"), RootModel[dict[str, Any]]).root


@remembered
def plain(text: str) -> str:
    """Bring a term into the form in which terms are compared.

    Lower case, one kind of dash and apostrophe, single blanks, no punctuation at the
    ends.
    """
    return " ".join(text.translate(_TO_ASCII).lower().split()).strip(" .,;:")


def category_code(category: str) -> str | None:
    """Read a category ("patient info" is PATIENT INFO.); None for anything else."""
    return _CODES.get(" ".join(category.upper().split()).rstrip("."))


def _form_by_spelling(group: Mapping[str, list[str]]) -> dict[str, str]:
    """Index the plain forms of a group by plain spelling."""
    form_by_spelling = {}
    for form, spellings in group.items():
        for spelling in spellings:
            form_by_spelling[plain(spelling)] = plain(form)
    return form_by_spelling


def longest_first(spellings: Iterable[str]) -> list[str]:
    """Sort spellings, so that the longest of several that begin alike is found."""
    return sorted(spellings, key=lambda spelling: (-len(spelling), spelling))


class _Spellings:
    """Spellings that are replaced anywhere in a text, as whole words."""

    def __init__(self, group: Mapping[str, list[str]]) -> None:
        self.forms = {
            spelling.replace("-", " "): form
            for spelling, form in _form_by_spelling(group).items()
        }
        # The longest first: "pleural effusions" before "effusions".
        spellings = "|".join(map(re.escape, longest_first(self.forms)))
        alternatives = spellings.replace(r"\ ", "[ -]")
        # A full stop goes with its abbreviation: "pulm. edema" is pulmonary edema.
        self._pattern = re.compile(rf"(?<![^\W_])({alternatives})(?![^\W_])\.?")

    def replaced(self, text: str) -> str:
        """Replace every spelling in a text by its form."""
        return self._pattern.sub(
            lambda match: self.forms[match[1].replace("-", " ")], text
        )


class Vocabulary:
    """Canonical names of findings and locations.

    A canonical name is its own canonical name, whatever the order of the vocabulary's
    rows: "RUL" becomes "right upper lobe", which stays.
    """

    def __init__(self, terms: pd.DataFrame) -> None:
        """Build it from `tables.TERMS`; an empty frame leaves the built-in forms."""
        forms = built_in_forms()
        self._findings: dict[str, str] = {}
        self._locations: dict[str, str] = {}
        self._categories: defaultdict[str, set[str]] = defaultdict(set)
        # Of several forms the spelling itself counts if it is one of them, else the
        # first in the alphabet: that one is put in last.
        is_other = terms["normed_term"] != terms["target_term"]
        order = ["is_other", "normed_term"]
        ranked = terms.assign(is_other=is_other).sort_values(order, ascending=False)
        rows = values_of(ranked, "category", "target_term", "normed_term")
        for category, spelling, form in rows:
            if category in CATEGORIES:
                self._findings[spelling] = form
                self._categories[spelling].add(category)
                self._categories[form].add(category)
            elif category == "location":
                self._locations[spelling] = form
        self._whole_names = _form_by_spelling(forms["whole"])
        self._in_findings = _Spellings(forms["words"] | forms["findings"])
        self._in_locations = _Spellings(forms["words"] | forms["locations"])
        self.finding = remembered(self._canonical_finding)
        self.location_parts = remembered(self._canonical_locations)

    def category(self, name: str) -> str | None:
        """Look up the category of a finding; None when it has none or several."""
        by_form = self._categories.get(self.finding(name), set())
        codes = self._categories.get(plain(name), by_form)
        return min(codes) if len(codes) == 1 else None

    def spellings(self, name: str) -> tuple[str, ...]:
        """List all known spellings of a finding, longest first, its form among them."""
        form = self.finding(name)
        return tuple(self._spellings_by_finding.get(form, (form,)))

    @cached_property
    def _spellings_by_finding(self) -> dict[str, list[str]]:
        spellings: set[str] = set()
        for forms in (self._findings, self._whole_names, self._in_findings.forms):
            spellings.update(forms, forms.values())
        by_finding: defaultdict[str, list[str]] = defaultdict(list)
        for spelling in longest_first(spellings):
            by_finding[self.finding(spelling)].append(spelling)
        return by_finding

    def _canonical_finding(self, ent: str) -> str:
        """Name a finding canonically.

        An unknown one is in lower case, with single blanks and in the singular.
        """
        return _settled(plain(ent), self._renamed_finding)

    def _renamed_finding(self, name: str) -> str:
        # The delivery goes before the built-in forms.
        name = self._in_singular(self._findings.get(name, name), self._in_findings)
        # "Effusion" alone is pleural, but a "pericardial effusion" is not.
        return self._whole_names.get(name, name)

    def _canonical_locations(self, location: str) -> tuple[str, ...]:
        """Name the locations of a cell: canonical comma parts, sorted and distinct."""
        return _comma_parts(_settled(plain(location), self._renamed_locations))

    def _renamed_locations(self, cell: str) -> str:
        parts = [
            self._in_singular(self._locations.get(part, part), self._in_locations)
            for part in _comma_parts(cell)
        ]
        # A form with a comma is several.
        return ", ".join(_comma_parts(", ".join(parts)))

    def _in_singular(self, text: str, spellings: _Spellings) -> str:
        return plain(in_singular(spellings.replaced(text)))


def _settled(term: str, renamed: Callable[[str], str]) -> str:
    """Rename a term until nothing changes.

    Of a circle ("a" is "b", "b" is "a") the first in alphabetical order stands for all.
    """
    seen: list[str] = []
    while term not in seen:
        seen.append(term)
        term = renamed(term)
    return min(seen[seen.index(term) :])


def _comma_parts(cell: str) -> tuple[str, ...]:
    """Cut a cell at commas; plain, sorted and distinct."""
    return tuple(sorted(set(map(plain, cell.split(","))) - {""}))
