"""Tentative pairs: a finding that a report leaves open, with its sentence.

Section 0 of docs/method/explicit.md. Every step of the explicit half is about the same
pairs, in the same order, and knows a masked sentence by the same key.
"""

from __future__ import annotations

import pandas as pd

from lunguage_assets.randomness import digest

EXPLICIT_SECTIONS = ("find", "impr")
"""History rows take no part in the explicit half."""


def tentative_rows(findings: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of tentative pairs, sorted by study and row.

    Identical masked sentences have one `sentence_key`, by which they are fitted once
    and logged; it is empty where the finding was not located.
    """
    # "tp" leans to present ("likely edema"), "tn" to absent ("edema is unlikely").
    is_tentative = findings["status"].isin(["tp", "tn"])
    pairs = findings[is_tentative & findings["section"].isin(EXPLICIT_SECTIONS)]
    pairs = pairs.sort_values(["study_id", "row", "finding_id"], kind="stable")
    keys = pairs["masked_sentence"].map(sentence_key, na_action="ignore")
    return pairs.assign(sentence_key=keys.fillna(""))


def sentence_key(masked_sentence: str) -> str:
    """Hash a masked sentence."""
    return digest(masked_sentence)[:24]
