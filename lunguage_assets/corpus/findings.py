"""The table of findings, made of studies as a whole.

Here come together what needs all rows of a study: canonical names and locations,
masked sentences (explicit.md section 0). What concerns a row alone is decided where it
is read (`lunguage.py`).
"""

from __future__ import annotations

from itertools import starmap

import pandas as pd

from lunguage_assets.corpus.columns import first_said, mapped
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.masking import Masker
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.tables import FINDINGS
from lunguage_assets.tables.values import values_of

_SENTENCE = ["study_id", "section", "sent_idx"]
_OF_STUDIES = ["subject_id", "sequence", "view_information"]


def findings_table(
    rows: pd.DataFrame, studies: pd.DataFrame, vocabulary: Vocabulary, log: IntakeLog
) -> pd.DataFrame:
    """Make `tables.FINDINGS`, sorted by study and row.

    Args:
        rows: that can be used.
        studies: with `subject_id`, `sequence` and `view_information` by `study_id`.
        vocabulary: gives canonical names and locations, and missing categories.
        log: takes notes, with the file that the rows name.
    """
    rows = rows.sort_values(["study_id", "row"], ignore_index=True)
    of_studies = studies.set_index("study_id").loc[rows["study_id"], _OF_STUDIES]
    rows[_OF_STUDIES] = of_studies.to_numpy()
    # Who coded the row knew what its words mean: that name goes before them.
    wording = first_said(rows["normed_ent"], rows["ent"])
    rows["name"] = mapped(wording, vocabulary.finding)
    category = mapped(wording, lambda name: vocabulary.category(name) or "OTH")
    rows["cat"] = first_said(rows["cat"], category)
    rows["location_parts"] = mapped(rows["location"], vocabulary.location_parts)
    is_past = (rows["section"] == "hist") | (rows["past_hx"] != "")
    rows["currency"] = is_past.map({True: "past dx", False: "current dx"})
    _mask(rows, Masker(vocabulary), log)
    return FINDINGS.frame(rows)


def _mask(rows: pd.DataFrame, masker: Masker, log: IntakeLog) -> None:
    """Mask the sentences of tentative rows; history is never compared.

    `same_name_in_sentence`: "possible effusion or effusion with edema" masks to the
    same words for both effusions, also when one of them is definitive: such a pair is
    ambiguous.
    """

    needs_mask = rows["status"].str.startswith("t") & (rows["section"] != "hist")
    # A definitive row is not masked for a judge, but would read the same.
    sentence = [rows[name] for name in _SENTENCE]
    concerned = rows[needs_mask.groupby(sentence).transform("any")]
    words = values_of(concerned, "sent", "ent", "normed_ent")
    masked = pd.Series(
        starmap(masker.masked, words), concerned.index, dtype=object
    ).reindex(rows.index)
    is_masked = needs_mask & masked.notna()
    rows["masked_sentence"] = masked.where(is_masked, None)
    state = needs_mask.map({False: "not needed", True: "not located"})
    rows["mask_state"] = state.mask(is_masked, "masked")
    unlocated = rows[needs_mask & ~is_masked]
    log.note("finding-not-located", unlocated, column="sent", found=unlocated["ent"])
    keys = rows[_SENTENCE].assign(text=masked)
    rows["same_name_in_sentence"] = is_masked & keys.duplicated(keep=False)


def with_sequences(studies: pd.DataFrame) -> pd.DataFrame:
    """Fill in the missing ranks of studies in their patients' time lines.

    Per patient by date and time when they are known for all of the patient's studies,
    else by first appearance in the file; counted from 1, or from the highest number
    that the file gives to a study of the patient.

    Of a study without a `sequence` it is 0.
    """
    patients = studies["subject_id"]
    # Without the time of one study nobody knows where it lies among the others.
    is_dated = (studies["taken_at"] != "").groupby(patients).transform("all")
    times = studies["taken_at"].where(is_dated, "")
    sequence = studies["sequence"]
    missing = times[sequence == 0].sort_values(kind="stable")
    # A number that the file gives stays; the others follow behind the highest.
    highest = sequence.groupby(patients).transform("max")
    rank = missing.groupby(patients).cumcount() + 1 + highest
    sequence = sequence.mask(sequence == 0, rank).astype("int64")
    return studies.assign(sequence=sequence)
