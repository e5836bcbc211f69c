"""Clinical uncertainty in radiology reports as Dagster data assets (Lunguage++).

The packages `corpus`, `judges`, `explicit`, `implicit` and `release` hold the method and know nothing of
Dagster; `orchestration` wires them into assets, checks, partitions and jobs; `cli` is the `lunguage` command.
`read` and `annotate` are the method for a report or a frame of reports, without any of that (docs/read.md),
`targets` what a classifier is trained with (docs/reports.md), `score` and `rewards` how near a generated
report is to its reference, `reward_function` and `RadEvalMetric` the same for trainers and for RadEval
(docs/score.md).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lunguage_assets.annotation.annotation import Annotation, annotate, read
    from lunguage_assets.annotation.scoring import Scores, rewards, score
    from lunguage_assets.annotation.training import (
        RadEvalMetric,
        reward_function,
        reward_function_of,
    )
    from lunguage_assets.labels.targets import Targets, targets

_PLACES = {
    "annotation.annotation": ("Annotation", "annotate", "read"),
    "annotation.scoring": ("Scores", "rewards", "score"),
    "annotation.training": ("RadEvalMetric", "reward_function", "reward_function_of"),
    "labels.targets": ("Targets", "targets"),
}
__all__ = [
    "Annotation",
    "RadEvalMetric",
    "Scores",
    "Targets",
    "annotate",
    "read",
    "reward_function",
    "reward_function_of",
    "rewards",
    "score",
    "targets",
]


def __getattr__(name: str) -> Any:
    """The public functions, imported when first asked for: `import lunguage_assets` stays instant."""
    for module, names in _PLACES.items():
        if name in names:
            return getattr(importlib.import_module(f"lunguage_assets.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names: what is imported for type checkers is nobody's business in a prompt."""
    return [*__all__, "__doc__", "__file__", "__name__", "__path__"]
