"""Rows of a result resolved once more: nothing may change."""

from __future__ import annotations

import pandas as pd

from lunguage_assets.implicit.pathways.pathways import PathwayDictionary
from lunguage_assets.implicit.resolution import resolve
from lunguage_assets.implicit.resolution.conflicts import Conflict, detect, rules_for
from lunguage_assets.implicit.resolution.study_resolver import LogEntry, StudyResolver
from lunguage_assets.implicit.rows import Row, by_study, read_rows
from lunguage_assets.tables import FINDING_COLUMNS, LUNGUAGE_PLUS_PLUS

COLUMNS = (*FINDING_COLUMNS, *(name for name in LUNGUAGE_PLUS_PLUS.names if name not in FINDING_COLUMNS))


def resolve_again(rows: pd.DataFrame, dictionary: PathwayDictionary) -> resolve.Resolution:
    """Resolve LUNGUAGE_PLUS_PLUS rows again; contradictions of stated rows, which stay, are not listed."""
    resolved: list[Row] = []
    log: list[LogEntry] = []
    conflicts: list[Conflict] = []
    for study in by_study(read_rows(rows, COLUMNS)):
        resolver = StudyResolver(
            study, dictionary, rules_for(study[0].mode), resolve._apart(dictionary, None)
        )
        conflicts += detect(resolver.groups)
        resolved += resolver.run()
        log += resolver.log
    return resolve._resolution(resolved, log, conflicts)
