"""Clinical uncertainty in radiology reports as Dagster data assets (Lunguage++).

For a report or a frame of reports, without Dagster: `read`, `annotate` (docs/read.md).
For a release: `targets`, what a classifier is trained with (docs/reports.md). For
generated reports: `score` and `rewards`, how near they are to their references
(docs/score.md).

The method is in `corpus`, `structuring`, `assertion`, `judges`, `explicit`, `implicit`,
`labels` and `release`, which know nothing of Dagster; `orchestration` makes assets,
checks, partitions and jobs of it, and `cli` is the `lunguage` command
(docs/architecture.md).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "1.0.0.dev0"

if TYPE_CHECKING:
    from lunguage_assets.annotation.annotation import Annotation, annotate, read
    from lunguage_assets.annotation.scoring import Scores, rewards, score
    from lunguage_assets.labels.targets import Targets, targets

_MODULE_BY_NAME = {
    "Annotation": "annotation.annotation",
    "Scores": "annotation.scoring",
    "Targets": "labels.targets",
    "annotate": "annotation.annotation",
    "read": "annotation.annotation",
    "rewards": "annotation.scoring",
    "score": "annotation.scoring",
    "targets": "labels.targets",
}
"""Public name -> the module that defines it."""

__all__ = [
    "Annotation",
    "Scores",
    "Targets",
    "annotate",
    "read",
    "rewards",
    "score",
    "targets",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for.

    So `import lunguage_assets` stays instant: pandas and scipy take a second.
    """
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"lunguage_assets.{_MODULE_BY_NAME[name]}")
    return getattr(module, name)


def __dir__() -> list[str]:
    """List the public names, and not what is imported for type checkers alone."""
    return list(__all__)
