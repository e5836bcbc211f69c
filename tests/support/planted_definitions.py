"""The code location with everything logged, one table that cannot be stored, and the
planted words in the error; for the webserver's runs.
"""

from __future__ import annotations

import logging
from typing import Any

from planted_runs import burst

from lunguage_assets.workspace import store

logging.basicConfig(level=logging.DEBUG)
_store = store.publish_table


def _store_all_but_one(table: Any, *arguments: Any) -> Any:
    return (
        burst() if table.table == "deduplicated_findings" else _store(table, *arguments)
    )


store.publish_table = _store_all_but_one

from lunguage_assets.definitions import defs  # noqa: E402

__all__ = ["defs"]
