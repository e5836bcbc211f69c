"""A batch of reports, read by one structurer, its work spread over processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from lunguage_assets.judges.configuration import RULES, JudgesConfiguration
from lunguage_assets.judges.opening import JudgeContext
from lunguage_assets.parallel import joined_tables, map_studies
from lunguage_assets.structuring.model.second_reader import SecondReader
from lunguage_assets.structuring.model.structurer import open_structurer
from lunguage_assets.structuring.rows import StructuredTables, structured_reports
from lunguage_assets.structuring.rules.structurer import rule_structurer


def structured_batch(
    key: str,
    report_texts: pd.DataFrame,
    report_sentences: pd.DataFrame,
    terms: pd.DataFrame,
    judges: JudgesConfiguration,
    open_context: Callable[[], JudgeContext],
    own_cues: Path | None,
    processes: int | None,
) -> tuple[StructuredTables, Mapping[str, str | int]]:
    """Let a structurer read a batch (method.md sections 7 and 8).

    Args:
        key: of the structurer.
        report_texts: `tables.REPORT_TEXTS`.
        report_sentences: `tables.REPORT_SENTENCES` of the same reports.
        terms: the delivered vocabulary.
        judges: the judges file.
        open_context: as in `open_structurer`.
        own_cues: the home's cue file.
        processes: as in `parallel.map_studies`.

    Returns:
        The tables; and who read them, with what a second reader did.

    Raises:
        LunguageError: the structurer cannot be opened or asked.
    """
    structurer = open_structurer(key, judges, terms, open_context, own_cues)
    metadata: dict[str, str | int] = {"structurer": structurer.identity}
    reports = (report_texts, report_sentences)
    if key != RULES:
        # All reports at once: its limits say how many are in flight.
        return structured_reports(*reports, structurer), metadata
    # The rules ask nobody and keep a core busy: each core reads some reports.
    chunks = map_studies(
        structured_reports,
        reports,
        rule_structurer,
        terms,
        own_cues,
        processes=processes,
    )
    structured = joined_tables(chunks)
    if isinstance(structurer, SecondReader):
        structured = structurer.read_again(structured, *reports)
        metadata |= structurer.metadata
    return structured, metadata
