"""The table of findings, made of studies as a whole.

Here come together what needs all rows of a study: canonical names and locations,
masked sentences (explicit.md section 0), references between rows (implicit.md section
1). What concerns a row alone is decided where it is read (`lunguage.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pandas as pd

from lunguage_assets.corpus.columns import first_said, mapped
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.masking import MASK, Masker
from lunguage_assets.corpus.references import (
    StudyReferences,
    Target,
    Token,
    parse_references,
)
from lunguage_assets.corpus.vocabulary import Vocabulary, plain
from lunguage_assets.tables import FINDINGS

_SENTENCE = ["study_id", "section", "sent_idx"]
_MASK_REASONS = {True: "mask-in-sentence", False: "finding-not-located"}


def findings_table(
    rows: pd.DataFrame,
    studies: pd.DataFrame,
    refused: pd.DataFrame,
    vocabulary: Vocabulary,
    log: IntakeLog,
) -> pd.DataFrame:
    """Make `tables.FINDINGS`, sorted by study and row.

    Args:
        rows: that can be used. `evidence` and `associate` are cells whose references
            are still to be resolved, or lists of the ids of findings.
        studies: with `subject_id`, `sequence` and `view_information` by `study_id`.
        refused: rejected rows: a reference to one must not find another row instead.
        vocabulary: gives canonical names and locations.
        log: takes notes, with the file that the rows name.
    """
    rows = rows.sort_values(["study_id", "row"], ignore_index=True)
    of_studies = studies.set_index("study_id").reindex(rows["study_id"])
    for name in ("subject_id", "sequence", "view_information"):
        rows[name] = of_studies[name].to_numpy()
    # Who coded the row knew what its words mean: that name goes before them.
    rows["name"] = _names(rows, vocabulary)
    rows["location_parts"] = mapped(rows["location"], vocabulary.location_parts)
    is_past = (rows["section"] == "hist") | (rows["past_hx"] != "")
    rows["currency"] = is_past.map({True: "past dx", False: "current dx"})
    _mask(rows, Masker(vocabulary), log)
    _note_one_wording(rows, is_past, vocabulary, log)
    _resolve_references(rows, refused, vocabulary, log)
    return FINDINGS.frame(rows[list(FINDINGS.names)].to_dict("list"))


def _names(rows: pd.DataFrame, vocabulary: Vocabulary) -> pd.Series:
    return mapped(first_said(rows["normed_ent"], rows["ent"]), vocabulary.finding)


def _mask(rows: pd.DataFrame, masker: Masker, log: IntakeLog) -> None:
    """Mask the sentences of tentative rows; history is never compared.

    `same_name_in_sentence`: "possible effusion or effusion with edema" masks to the
    same words for both effusions, also when one of them is definitive: such a pair is
    ambiguous.
    """

    def masked(concerned: pd.DataFrame) -> pd.Series:
        columns = (concerned[name] for name in ("sent", "ent", "normed_ent"))
        sentences = map(masker.masked, *columns)
        return pd.Series(list(sentences), concerned.index, dtype=object)

    needs_mask = rows["status"].str.startswith("t") & (rows["section"] != "hist")
    own = masked(rows[needs_mask]).reindex(rows.index)
    is_masked = own.notna()
    rows["masked_sentence"] = own.where(is_masked, None)
    rows["mask_state"] = "not needed"
    rows.loc[needs_mask, "mask_state"] = "not located"
    rows.loc[is_masked, "mask_state"] = "masked"
    unmasked = rows[needs_mask & ~is_masked]
    has_mask = unmasked["sent"].str.lower().str.contains(MASK, regex=False)
    for is_in_sentence, reason in _MASK_REASONS.items():
        concerned = unmasked[has_mask.astype(bool) == is_in_sentence]
        log.note_rows(reason, concerned, "sent", "ent")
    # A definitive row is not masked for a judge, but would read the same.
    has_masked_neighbour = is_masked.groupby([rows[name] for name in _SENTENCE])
    neighbours = has_masked_neighbour.transform("any") & ~needs_mask
    compared = own.where(~neighbours, masked(rows[neighbours]).reindex(rows.index))
    keys = rows[_SENTENCE].assign(text=compared)
    rows["same_name_in_sentence"] = is_masked & keys.duplicated(keep=False)


def _note_one_wording(
    rows: pd.DataFrame, is_past: pd.Series, vocabulary: Vocabulary, log: IntakeLog
) -> None:
    """Note rows that a reader of the published file takes for one.

    They have the same wording and location, and two canonical names.
    """
    wording = mapped(rows["ent"], vocabulary.finding)
    # Both are lists of names without line ends.
    place = rows["location_parts"].map("\n".join)
    keys = [rows["study_id"], is_past, wording, place]
    first = rows["name"].groupby(keys).transform("first")
    differing = rows[rows["name"] != first]
    log.note_rows("one-wording-two-names", differing, "normed_ent", "ent")


def _resolve_references(
    rows: pd.DataFrame, refused: pd.DataFrame, vocabulary: Vocabulary, log: IntakeLog
) -> None:
    """Resolve `evidence` and `associate` to tokens, and note what names no row."""
    has_cell = rows["evidence"].map(_is_cell) | rows["associate"].map(_is_cell)
    # A structurer's rows have theirs resolved.
    if not has_cell.any():
        for column in ("evidence", "associate"):
            rows[column] = rows[column].map(_as_list)
        return
    refused = refused.assign(finding_id="", name=_names(refused, vocabulary))
    refused_by_study: defaultdict[str, list[Target]] = defaultdict(list)
    row: Any
    for row in refused.itertuples():
        refused_by_study[row.study_id].append(_target(row))
    # Most studies have none.
    concerned = rows[rows["study_id"].isin(rows.loc[has_cell, "study_id"])]
    tokens_by_row: dict[str, dict[int, list[str]]] = {"evidence": {}, "associate": {}}
    referring: Iterator[Any] = concerned.itertuples()
    for study, group in groupby(referring, lambda row: row.study_id):
        of_study = list(group)
        targets = [*refused_by_study[study], *map(_target, of_study)]
        resolver = StudyReferences(targets, vocabulary.finding)
        for row in of_study:
            for column, tokens_of_column in tokens_by_row.items():
                tokens = _tokens(row, column, resolver)
                texts = [token.text for token in tokens if token.text]
                tokens_of_column[row.Index] = texts
                for token in tokens:
                    if token.reason:
                        cells = {"study_id": study, "finding_id": row.finding_id}
                        cells |= {"column": column, "found": token.delivered_name}
                        log.note(token.reason, row.file, line=row.line, **cells)
    for column, tokens_of_column in tokens_by_row.items():
        resolved = pd.Series(tokens_of_column, dtype=object)
        rows[column] = resolved.reindex(rows.index).map(_as_list)


def _is_cell(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _as_list(tokens: Any) -> list[str]:
    return tokens if isinstance(tokens, list) else []


def _target(row: Any) -> Target:
    wordings = frozenset({plain(row.ent), plain(row.normed_ent or row.ent)})
    ent_idx = None if pd.isna(row.ent_idx) else int(row.ent_idx)
    return Target(row.finding_id, row.section, ent_idx, wordings, row.name)


def _tokens(row: Any, column: str, resolver: StudyReferences) -> list[Token]:
    """Resolve one cell; what it names twice counts once."""
    tokens: dict[str, Token] = {}
    for reference in parse_references(getattr(row, column) or ""):
        for token in resolver.resolve(reference, row.section, row.finding_id):
            tokens.setdefault(token.text, token)
    return list(tokens.values())


def with_sequences(studies: pd.DataFrame, log: IntakeLog) -> pd.DataFrame:
    """Fill in the missing ranks of studies in their patients' time lines.

    Per patient by date and time when they are known for all of the patient's studies,
    else by first appearance in the file; counted from 1, or from the highest number
    that the file gives to a study of the patient.

    Args:
        studies: all studies of a delivery; without a `sequence` it is 0.
        log: takes a note for each number that was derived.
    """
    patients = studies["subject_id"]
    # Without the time of one study nobody knows where it lies among the others.
    is_dated = (studies["taken_at"] != "").groupby(patients).transform("all")
    time = studies["taken_at"].where(is_dated, "")
    missing = studies.assign(time=time)[studies["sequence"] == 0]
    missing = missing.sort_values(["time", "first_line"])
    highest = studies.groupby("subject_id")["sequence"].transform("max")
    # A number that the file gives stays; the others follow behind the highest.
    rank = missing.groupby("subject_id").cumcount() + 1
    sequence = studies["sequence"].where(studies["sequence"] > 0, rank + highest)
    log.note_rows(
        "sequence-derived", missing.drop(columns="line", errors="ignore"), "sequence"
    )
    return studies.assign(sequence=sequence.astype("int64"))
