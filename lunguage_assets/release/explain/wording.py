"""The plain words of `lunguage explain`: codes of the tables as sentences. What is said about which row is
decided in `explain.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.structuring.rules.lexicon import alternatives, word_file
from lunguage_assets.tables import ATTRIBUTES, TERMS
from lunguage_assets.tables import STATUSES as STATUS_CODES
from lunguage_assets.tables.columns import MEANINGS

SECTIONS = {"hist": "history", "find": "findings", "impr": "impression"}

STATUSES = {code: MEANINGS[code] for code in STATUS_CODES}


@cache
def _forms() -> Vocabulary:
    return Vocabulary.from_terms(TERMS.frame())


@cache
def _structures() -> frozenset[str]:
    """Parts of the body, as findings are named."""
    anatomy = {name: others for (group, name), others in word_file("places").items() if group == "anatomy"}
    spellings = (spelling for name, others in anatomy.items() for spelling in (name, *others))
    return frozenset(_forms().finding(one) for spelling in spellings for one in alternatives(spelling))


def status_of(row: Mapping[str, Any]) -> str:
    """The status of a row in words: lungs are normal, and not absent."""
    said = STATUSES[row["status"]]
    if _structures().isdisjoint({row.get("name", ""), _forms().finding(row["ent"])}):
        return said
    return said.replace("absent", "normal").replace("present", "abnormal")


P_SOURCES = {
    "definitive": "stated without doubt",
    "fitted": "fitted into the ranking of hedging phrases",
    "phrase": "the finding could not be located in its sentence, or no judge answered: the place of "
    "its phrases in the ranking",
    "alternative": "one of several alternatives, of which the report says without doubt that one is there: "
    "at least one divided by their number",
    "qualifier": "only a kind of the finding is denied: the share of such denials beside which people coded "
    "the finding",
    "none": "nothing is known of its certainty, so it never expands",
    "pathway": "a bound that follows from the pathway, not an estimate",
}

NO_PATHWAY = {
    "not a diagnosis": "it is no diagnosis of the pathway dictionary",
    "history section": "it stands in the history section, which takes no part",
    "past diagnosis": "it is past, and only current diagnoses expand",
    "negative": "it is denied: the absence of a diagnosis does not imply the absence of its signs",
    "resolved": "the report calls it resolved: it is absent now",
    "merged": "it says the same as another row, which expands in its place",
    "no information on certainty": "nothing is known of its certainty",
    "device": "it is about a device, not about the patient",
    "unknown view": "its signs depend on the view, and the views of the study are not known",
    "view not covered": "no pathway covers the views of the study",
    "no pathway for this refinement": "no pathway is listed for its refinement",
}
"""Reasons of PATHWAY_MATCHES, without `matched`."""

RULES = {
    "same meaning": "it says the same (deduplication)",
    "same statement": "it states the same again, at a wider or narrower place or by another name",
    "history section": "history rows take no part",
    "already stated": "the report already states it",
    "rule 1: originals outrank expansions": "rule 1: what the report says outranks what is generated",
    "rule 2: definite contradiction": "rule 2: certainly present against certainly absent; all go",
    "rule 3: highest support": "rule 3: the row with the highest support is kept",
    "rule 3: highest p": "rule 3 in mode paper: the row with the highest p is kept",
    "stated against": "the report speaks against it",
    "attributes exclude each other": "its course, onset, size or grade excludes what the other says",
    "parent merged": "the diagnosis that implied it was merged; the row that stands for it has its own signs",
    "parent gone": "the diagnosis that implied it is gone",
    "target gone": "the row that it refers to is gone",
}
"""Rules of RESOLUTION_LOG."""

CONFLICTS = {
    "polarity": "one says present, one absent",
    "certainty_pos": "present, of different certainty",
    "certainty_neg": "absent, of different certainty",
    "duplicate_pos": "tentatively present twice",
    "duplicate_neg": "tentatively absent twice",
    "repeat_dp": "certainly present twice",
    "repeat_dn": "certainly absent twice",
    "stated_contradiction": "the report says both, at places that contain each other; both stay",
}

FIT_ENDS = {
    "stable rank": "its rank stayed the same",
    "step limit": "the step limit was reached",
    "no opponent left": "every phrase had been played often enough",
    "no valid answers": "no judge gave a valid answer",
    "not located": "it was not played",
}


def interval(row: Mapping[str, Any]) -> str:
    """`0.62 [0.41, 0.83]`"""
    return f"{row['prob']:.3f} [{row['p_low']:.3f}, {row['p_high']:.3f}]"


def stated_as(row: Mapping[str, Any]) -> str:
    """Finding and place, in the report's words."""
    return f"{row['ent']}, {row['location']}" if row["location"] else str(row["ent"])


def attributes(row: Mapping[str, Any]) -> str:
    """The attributes that are not empty, under their published names."""
    return "; ".join(f"{published}: {row[name]}" for name, published in ATTRIBUTES.items() if row[name])


def shown(text: str) -> str:
    """Text of a report without control characters, which a terminal would obey; line ends become blanks."""
    return "".join(character if character.isprintable() else " " for character in text)
