"""One row per agreement: its value, interval and cases, and what was left out and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lunguage_assets.explicit.analysis.reliability import MeasuredValue

NOT_DEFINED = MeasuredValue(None, None, None, 0)


def agreement_row(
    measure: str,
    estimate: MeasuredValue,
    *,
    first: str = "",
    second: str = "",
    coding: str = "none",
    left_out: Mapping[str, int] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The columns that all agreement tables share, and more; `left_out` counts cases by reason."""
    present = {reason: count for reason, count in (left_out or {}).items() if count}
    return {
        "measure": measure,
        "coding": coding,
        "first": first,
        "second": second,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "left_out": sum(present.values()),
        "reasons": "; ".join(f"{reason}: {count}" for reason, count in present.items()),
        **more,
    }
