"""Rows of a result resolved once more: nothing may change."""

from __future__ import annotations

import pandas as pd

from lunguage_assets.implicit.merging.merge_constraints import load_blacklist
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary
from lunguage_assets.implicit.resolution import resolve
from lunguage_assets.implicit.rows import Row, by_study, read_rows


def resolve_again(
    rows: pd.DataFrame, dictionary: PathwayDictionary
) -> resolve.Resolution:
    """Resolve LUNGUAGE_PLUS_PLUS rows again; contradictions of stated rows, which stay, are not listed."""
    resolved, log, conflicts = list[Row](), list[resolve.Event](), list[resolve.Event]()
    for study in by_study(read_rows(rows)):
        resolver = resolve.StudyResolver(study, dictionary, load_blacklist())
        conflicts += resolve.detect(resolver.groups)
        resolved += resolver.run()
        log += resolver.log
    return resolve.resolution_of(resolved, log, conflicts)
