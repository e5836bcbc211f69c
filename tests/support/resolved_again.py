"""Rows of a result resolved once more: nothing may change."""

from __future__ import annotations

import pandas as pd

from lunguage_assets.implicit.pathways.pathways import PathwayDictionary
from lunguage_assets.implicit.resolution.conflicts import conflicts_of_keys
from lunguage_assets.implicit.resolution.resolve import Resolution
from lunguage_assets.implicit.resolution.study import StudyResolver
from lunguage_assets.implicit.rows import Row, by_study, read_rows, write_rows
from lunguage_assets.tables import LUNGUAGE_PLUS_PLUS


def resolve_again(rows: pd.DataFrame, dictionary: PathwayDictionary) -> Resolution:
    """Resolve LUNGUAGE_PLUS_PLUS rows again; contradictions of stated rows, which stay,
    are not listed.
    """
    resolved: list[Row] = []
    log: list[object] = []
    conflicts: list[object] = []
    for study in by_study(read_rows(rows)):
        resolver = StudyResolver(study, dictionary)
        resolved += resolver.run()
        conflicts += conflicts_of_keys(resolver.groups)
        log += resolver.log
    return Resolution(
        rows=write_rows(LUNGUAGE_PLUS_PLUS, resolved),
        log=pd.DataFrame({"event": log}),
        conflicts=pd.DataFrame({"conflict": conflicts}),
    )
