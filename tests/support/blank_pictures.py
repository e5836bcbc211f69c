"""Pictures that nobody looks at: one dot each, neither composed nor drawn, most of what
a release costs.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

from lunguage_assets.pictures import scale_plots, validation_plots
from lunguage_assets.release import report

_DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)
_NAMES = {
    name
    for module in (scale_plots, validation_plots)
    for name, found in vars(module).items()
    if getattr(found, "__annotations__", {}).get("return") == "bytes"
}


@contextmanager
def blank_pictures() -> Iterator[None]:
    """Every picture of the paper's figures is a dot meanwhile."""
    with ExitStack() as stack:
        for module in (scale_plots, validation_plots, report):
            for name in _NAMES & vars(module).keys():
                stack.enter_context(mock.patch.object(module, name, return_value=_DOT))
        yield
