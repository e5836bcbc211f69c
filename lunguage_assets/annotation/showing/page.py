"""Reports as one HTML page that needs nothing else (`resources/read/page.html.j2`), and as one JSON document,
whose form is documented in docs/read.md and keeps its version.

Whatever a report says is escaped. The page has no script, loads nothing, and no browser may let it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lunguage_assets.annotation.annotation import Annotation
from lunguage_assets.annotation.showing.marks import COLOURS
from lunguage_assets.data_files import page_template

if TYPE_CHECKING:
    from lunguage_assets.annotation.showing.shown import ShownReport

POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
"""Content security policy of a page that only shows."""


@dataclass(frozen=True, slots=True)
class ReportForm:
    """The form of a page that takes a report: what was given, and what was wrong with it."""

    report: str = ""
    views: str = ""
    problem: str = ""


def read_page(reports: Sequence[ShownReport], form: ReportForm | None = None, policy: str = POLICY) -> str:
    """The page of some reports; with `form` it has a form that posts the next one to `/`."""
    template = page_template("read", "page.html.j2")
    return template.render(reports=reports, form=form, colours=COLOURS, policy=policy)


SCHEMA = "lunguage.read/2"
"""Raised when a key changes its meaning or goes; new keys do not raise it."""

_LISTS = ("sentences", "findings", "left_out", "conflicts", "labels", "spans", "set_aside")


def json_document(annotation: Annotation) -> str:
    """The document, one line end at its end: `{"schema": ..., "reports": [...]}`.

    Every report holds its own rows, in the order of the frames; a missing value is null. Labels that the
    report does not mention are left out.
    """
    parts = {name: by_report(getattr(annotation, name)) for name in _LISTS}
    reports = []
    for report in annotation.reports.to_dict("records"):
        own = {name: found.get(report["study_id"], []) for name, found in parts.items()}
        own["labels"] = [row for row in own["labels"] if row["source"] != "unmentioned"]
        rows = {name: [_plain(row, without="study_id") for row in listed] for name, listed in own.items()}
        reports.append({**_plain(report), **rows})
    document = {"schema": SCHEMA, "reports": reports}
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def by_report(frame: pd.DataFrame) -> dict[str, list[dict[Any, Any]]]:
    """The rows of every report that has some, by its id, in the order of the frame."""
    return {str(study): part.to_dict("records") for study, part in frame.groupby("study_id", sort=False)}


def _plain(record: Mapping[Any, Any], without: str = "") -> dict[str, Any]:
    return {str(name): _value(value) for name, value in record.items() if name != without}


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return value
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value
