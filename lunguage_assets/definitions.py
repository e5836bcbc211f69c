"""The code location: the one entry point that workspace.yaml and `lunguage ui` load."""

from __future__ import annotations

import dagster as dg

from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.permissions import set_private_umask


@dg.definitions
def defs() -> dg.Definitions:
    """Everything, for the home that `$LUNGUAGE_HOME` names."""
    # Whatever launched this process, webserver, daemon or a worker: what it writes is for its account alone.
    set_private_umask()
    return build_defs()
