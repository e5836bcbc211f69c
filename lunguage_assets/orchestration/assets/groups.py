"""The assets that are tables, found in the modules of their groups, in the order of the method."""

from __future__ import annotations

from lunguage_assets.orchestration.assets import analysis, audits, corpus, explicit, implicit, text
from lunguage_assets.orchestration.assets.table_asset import TableAsset

TABLE_ASSETS: dict[str, TableAsset] = {
    found.name: found
    for module in (text, corpus, explicit, implicit, analysis, audits)
    for found in vars(module).values()
    if isinstance(found, TableAsset)
}
"""Name -> asset."""
