"""Column lineage as the UI draws it, derived from the declared origins of the tables' columns."""

from __future__ import annotations

from functools import cache

import dagster as dg

from lunguage_assets.tables.origins import sources


@cache
def column_lineage(table: str) -> dg.TableColumnLineage:
    """Every column of an asset that comes from columns of upstream assets, with those; other columns are made
    in the asset.
    """
    return dg.TableColumnLineage(
        {
            column: [
                dg.TableColumnDep(asset_key=dg.AssetKey(upstream), column_name=name)
                for upstream, name in found
            ]
            for column, found in sources(table).items()
        }
    )
