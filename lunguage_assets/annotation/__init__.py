"""The whole method in memory, for one report or a frame of them: no home, no Dagster, nothing stored or sent.

The public functions are `read` and `annotate` (docs/read.md); the package offers them as
`lunguage_assets.read` and `lunguage_assets.annotate`. Nothing of the method is decided here.
"""

from lunguage_assets.annotation.annotation import Annotation, annotate, read

__all__ = ["Annotation", "annotate", "read"]
