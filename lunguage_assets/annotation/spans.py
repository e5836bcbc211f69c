"""Where in a report every value was read, and where its hedging phrase stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from lunguage_assets.annotation.frames import Names, phrases_by_row
from lunguage_assets.annotation.method import Results
from lunguage_assets.annotation.reading import Read
from lunguage_assets.release.explain.marks import PHRASE, nearest
from lunguage_assets.structuring.rows import read_spans
from lunguage_assets.tables.annotation import READ_SPANS

_READ = ("finding_id", "study_id", "section", "status", "sent_idx", "ent_idx")


def spans_frame(found: Read, results: Results, names: Names) -> pd.DataFrame:
    """READ_SPANS: the spans of the structured rows, and those of the hedging phrases of their sentences."""
    texts = _by(found.read.report_texts, ("study_id",), "report")
    spans = _by(found.structured.structured_findings, ("study_id", "section", "ent_idx"), "spans")
    place = ("study_id", "section", "sent_idx")
    begins, ends = (_by(found.read.report_sentences, place, name) for name in ("begin", "end"))
    phrases = phrases_by_row(results)
    rows: list[tuple[Any, ...]] = []
    findings = found.intake.findings
    for own, study, section, status, sent_idx, ent_idx in zip(
        *(findings[name].tolist() for name in _READ), strict=True
    ):
        read = read_spans(spans[study, section, ent_idx])
        values = [(column, span.begin, span.end) for column, parts in read.items() for span in parts]
        where = study, section, sent_idx
        for phrase in phrases.get(own, ()):
            values += [
                (PHRASE, *span)
                for span in nearest(phrase, texts[study,], begins[where], ends[where], read["ent"][0].begin)
            ]
        rows += [
            (study, own, section, status, column, begin, end, texts[study,][begin:end])
            for column, begin, end in values
        ]
    return names.frame(READ_SPANS, pd.DataFrame(rows, columns=READ_SPANS.names))


def _by(frame: pd.DataFrame, key: Sequence[str], value: str) -> dict[tuple[Any, ...], Any]:
    keys = zip(*(frame[name].tolist() for name in key), strict=True)
    return dict(zip(keys, frame[value].tolist(), strict=True))
