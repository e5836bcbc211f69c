"""Rows of `Lunguage_vocab.csv`: all findings, places and attributes of the synthetic reports.

Derived from the data files, not from a sample, so that it is the same for every sample. The UMLS column is
empty: no code is invented.
"""

from __future__ import annotations

from collections.abc import Iterator

from lunguage_assets.sample.knowledge import Knowledge
from lunguage_assets.sample.prose.markup import cells_of

VOCABULARY_COLUMNS = ("category", "subcategory", "target_term", "normed_term", "UMLS (w code)")

_SUBCATEGORIES = {
    "location": "anatomy > chest",
    "placement": "device > position",
    "morphology": "appearance > form",
    "distribution": "appearance > spread",
    "measurement": "extent > size",
    "severity": "extent > degree",
    "comparison": "time > comparison",
    "onset": "time > onset",
    "no change": "time > course",
    "improved": "time > course",
    "worsened": "time > course",
    "past hx": "time > past",
    "other source": "context > source",
    "assessment limitations": "context > limitation",
}


def vocabulary_rows(knowledge: Knowledge) -> list[list[str]]:
    """Distinct rows, sorted."""
    findings = {
        (term.cat, term.subcategory, words, term.canonical) for words, term in knowledge.terms.items()
    }
    places = {
        (form.lower(), site.canonical)
        for site in knowledge.sites
        for form in _forms(site.before, site.after, site.short)
    }
    known = {form for form, _ in places} | {site.canonical for site in knowledge.sites}
    places |= {(site.canonical, site.canonical) for site in knowledge.sites}
    rows = findings | {
        ("location", _SUBCATEGORIES["location"], form, canonical) for form, canonical in places
    }
    for column, value in _cells(knowledge):
        for part in (part.strip().lower() for part in value.split(",")):
            if column != "location" or part not in known:
                rows.add((column, _SUBCATEGORIES[column], part, part))
    return [[*row, ""] for row in sorted(rows)]


def _forms(before: tuple[str, ...], after: tuple[tuple[str, str], ...], short: str) -> Iterator[str]:
    yield from before
    yield from (cell for _, cell in after if "," not in cell)
    if short:
        yield short


def _cells(knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    """Every attribute and place cell that some part of the data can write."""
    for group in knowledge.details.values():
        for column, words in group.items():
            for word in words:
                name = next((name for name in ("mm", "cm") if f"{{{name}}}" in word), "")
                yield from (
                    (column, word.replace(f"{{{name}}}", number))
                    for number in knowledge.words.get(name, [""])
                )
    for column, words in knowledge.wording["trends"].items():
        yield from ((column, word) for word in words)
    yield from ((column, words) for words, column in knowledge.wording["trend_cells"].items())
    yield "comparison", "prior study"
    yield from (
        ("assessment limitations", cell) for limits in knowledge.limits.values() for _, cell in limits
    )
    yield from (("past hx", mark) for mark in ("history of", "known"))
    yield from (("location", cell) for site in knowledge.sites for _, cell in site.after)
    for statements in knowledge.statements.values():
        for statement in statements:
            yield from cells_of(statement, knowledge)
