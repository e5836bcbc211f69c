"""What is new in a release against the version before, in counts.

The easy version, a table of changed rows with the reason of each, cannot know the reason when several inputs
changed at once. Which inputs differ says `diff` of two `provenance.json`.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from lunguage_assets.release.bundle.newest import NewestStudies, quoted
from lunguage_assets.tables import RELEASE


def row_changes(studies: NewestStudies, before: Path, after: Path) -> dict[str, int] | None:
    """Rows that were added, removed and changed between two released Parquets, by finding id; None when the
    older one is gone.

    A row that another batch delivered again without a difference has not changed. Columns that only one of
    the files has are not compared.
    """
    if not before.exists():
        return None
    old, new = (pq.read_schema(path) for path in (before, after))
    compared = ", ".join(
        f'"{name}"'
        for name in RELEASE.names
        if name != "report_batch" and name in old.names and old.field(name).type == new.field(name).type
    )
    ((added, removed, changed),) = studies.query(
        "SELECT count(*) FILTER (before IS NULL), count(*) FILTER (after IS NULL), "
        "count(*) FILTER (before <> after) FROM "
        f"(SELECT finding_id, hash({compared}) AS before FROM read_parquet({quoted(before)})) FULL JOIN "
        f"(SELECT finding_id, hash({compared}) AS after FROM read_parquet({quoted(after)})) "
        "USING (finding_id)"
    )
    return {"added": int(added), "removed": int(removed), "changed": int(changed)}
