"""Implied labels with the strengths that the pathway audit measured (`implicit/pathways/audit.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from lunguage_assets.implicit.pathways.audit import EdgeKey
from lunguage_assets.tables import AUDITED_LABELS

_CELLS = ("label", "p", "p_measured", "measured")


def implied_cells(
    labels: pd.DataFrame,
    rows: pd.DataFrame,
    now: Mapping[EdgeKey, float | None],
    measured: Mapping[EdgeKey, float],
) -> pd.DataFrame:
    """Implied labels: label, p, p with the measured strengths, and whether all its edges are measured.

    Args:
        labels: LABELS.
        rows: LUNGUAGE_PLUS_PLUS of the same studies.
        now: strength of every edge in the pathway file; None or missing passes the support on as it is.
        measured: shares of edges with enough mentions.
    """
    pathway = dict(zip(rows["finding_id"].tolist(), rows["pathway_id"].tolist(), strict=True))
    implied = labels[labels["source"] == "implied"]
    found = []
    names = ("label", "finding_id", "p")
    for label, own, p in zip(*(implied[name].tolist() for name in names), strict=True):
        edges = _edges(own, pathway)
        factor = 1.0
        for edge in edges:
            factor *= measured.get(edge, now.get(edge) or 1.0) / (now.get(edge) or 1.0)
        found.append((label, p, min(p * factor, 1.0), all(edge in measured for edge in edges)))
    return pd.DataFrame(found, columns=list(_CELLS))


def _edges(own: str, pathway: Mapping[str, str]) -> list[EdgeKey]:
    """The edges that lead to a generated row, from its id: the root's, then /edge for each step."""
    parent, *steps = own.split("/")
    edges: list[EdgeKey] = []
    for step in steps:
        edges.append((pathway.get(parent, ""), int(step)))
        parent = f"{parent}/{step}"
    return edges


def audited_labels(parts: Iterable[pd.DataFrame], names: Iterable[str]) -> pd.DataFrame:
    """Cells of all studies (`implied_cells`) to AUDITED_LABELS, a row per label of the list."""
    cells = pd.concat([pd.DataFrame(columns=list(_CELLS)), *parts], ignore_index=True)
    of_label = dict(iter(cells.groupby("label")))
    none = cells.iloc[:0]
    return AUDITED_LABELS.frame(_summary(name, of_label.get(name, none)) for name in names)


def _summary(label: str, cells: pd.DataFrame) -> dict[str, object]:
    p, measured = (cells[name].to_numpy(dtype=np.float64) for name in ("p", "p_measured"))
    return {
        "label": label,
        "implied": len(cells),
        "unmeasured": int((~cells["measured"].astype(bool)).sum()),
        "p": p.mean() if len(cells) else None,
        "p_measured": measured.mean() if len(cells) else None,
        "fall_below_half": int(((p >= 0.5) & (measured < 0.5)).sum()),
    }
