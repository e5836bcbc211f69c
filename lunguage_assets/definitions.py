"""The code location: the one entry point that workspace.yaml and `lunguage ui` load.

What is defined is assembled in `orchestration.build`.
"""

from __future__ import annotations

import dagster as dg

from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.permissions import set_private_umask


@dg.definitions
def defs() -> dg.Definitions:
    """Define everything, for the home that `$LUNGUAGE_HOME` names."""
    # Webserver, daemon and workers load this without the `lunguage` command: what they
    # write is for their account alone, too.
    set_private_umask()
    return build_defs()
