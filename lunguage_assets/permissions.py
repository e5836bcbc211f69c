"""File permissions: report text is for the account that runs this, and for nobody else.

As PostgreSQL does with its data folder, a folder that others can read is refused
instead of quietly used.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from lunguage_assets.errors import ConfigurationError

_ANY_ACCESS = stat.S_IRWXG | stat.S_IRWXO
"""Bits of a folder itself: a group or everybody may read, write or enter it."""
_PASSAGE = stat.S_IXGRP | stat.S_IXOTH
"""Bits of each folder above, without which nobody gets to it."""


def set_private_umask() -> None:
    """Let everything that this process makes from now on be for its account alone."""
    os.umask(0o077)


def open_to_others(folder: Path) -> bool:
    """Whether another account can reach a folder and read, write or enter it."""
    if not folder.exists():
        return False
    resolved = folder.resolve()
    # A folder above may bar the way.
    is_reached = all(above.stat().st_mode & _PASSAGE for above in resolved.parents)
    return is_reached and bool(resolved.stat().st_mode & _ANY_ACCESS)


def require_private(folder: Path, description: str) -> None:
    """Refuse a folder for report text that other accounts can read.

    Args:
        folder: that is to hold the text.
        description: what the message calls it.

    Raises:
        ConfigurationError: it is open to others; the message has the command that fixes
            it.
    """
    if open_to_others(folder):
        raise ConfigurationError(
            f"{description} {folder} holds reports of patients, and other accounts of "
            f"this machine can read it. Close it: chmod -R go-rwx '{folder}'"
        )
