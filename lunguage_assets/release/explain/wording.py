"""The plain words of `lunguage explain`: codes of the tables as sentences (`resources/explain.yaml`). What is
said about which row is decided in `explain.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.data_files import resource
from lunguage_assets.structuring.rules.lexicon import alternatives
from lunguage_assets.structuring.text.words import word_file
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


_WORDS: Mapping[str, Mapping[str, str]] = yaml.safe_load(resource("explain.yaml").read_text("utf-8"))
P_SOURCES, NO_PATHWAY, RULES, CONFLICTS, FIT_ENDS = (
    _WORDS[name] for name in ("p_sources", "no_pathway", "rules", "conflicts", "fit_ends")
)


def stated_as(row: Mapping[str, Any]) -> str:
    """Finding and place, in the report's words."""
    return f"{row['ent']}, {row['location']}" if row["location"] else str(row["ent"])


def attributes(row: Mapping[str, Any]) -> str:
    """The attributes that are not empty, under their published names."""
    return "; ".join(f"{published}: {row[name]}" for name, published in ATTRIBUTES.items() if row[name])


def shown(text: str) -> str:
    """Text of a report without control characters, which a terminal would obey; line ends become blanks."""
    return "".join(character if character.isprintable() else " " for character in text)
