"""An annotation as one JSON document; its form is documented in docs/read.md and keeps its version."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.annotation.annotation import Annotation

SCHEMA = "lunguage.read/1"
"""Raised when a key changes its meaning or goes; new keys do not raise it."""

_LISTS = ("sentences", "findings", "left_out", "conflicts", "labels", "spans")


def json_document(annotation: Annotation) -> str:
    """The document, one line end at its end: `{"schema": ..., "reports": [...]}`.

    Every report holds its own rows, in the order of the frames; a missing value is null. Labels that the
    report does not mention are left out.
    """
    parts = {name: _by_report(getattr(annotation, name)) for name in _LISTS}
    reports = [
        {**_plain(report), **{name: found.get(report["study_id"], []) for name, found in parts.items()}}
        for report in annotation.reports.to_dict("records")
    ]
    for report in reports:
        report["labels"] = [row for row in report["labels"] if row["source"] != "unmentioned"]
    document = {"schema": SCHEMA, "reports": reports}
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _by_report(frame: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for record in frame.to_dict("records"):
        row = _plain(record)
        found.setdefault(row.pop("study_id"), []).append(row)
    return found


def _plain(record: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): _value(value) for name, value in record.items()}


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return value
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value
