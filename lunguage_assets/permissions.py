"""File permissions: report text is for the account that runs this, and for nobody else.

As PostgreSQL does with its data folder, a folder that others can read is refused
instead of quietly used.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from lunguage_assets.errors import ConfigurationError


class _AccountClass(NamedTuple):
    """Permission bits of a class of other accounts."""

    any_access: int
    """Bits of the folder itself: to read, write or enter it."""
    passage: int
    """Bit of each folder above, without which nobody gets to it."""


_OTHER_ACCOUNTS = (
    _AccountClass(stat.S_IRGRP | stat.S_IWGRP | stat.S_IXGRP, stat.S_IXGRP),
    _AccountClass(stat.S_IRWXO, stat.S_IXOTH),
)
"""The group, and everybody."""


def set_private_umask() -> None:
    """Let everything that this process makes from now on be for its account alone."""
    os.umask(0o077)


def open_to_others(folder: Path) -> bool:
    """Whether another account can reach a folder and read, write or enter it."""
    if os.name != "posix" or not folder.exists():
        return False
    resolved = folder.resolve()
    mode = resolved.stat().st_mode
    modes_above = [parent.stat().st_mode for parent in resolved.parents]
    for accounts in _OTHER_ACCOUNTS:
        # A folder above may bar the way.
        is_reached = all(above & accounts.passage for above in modes_above)
        if mode & accounts.any_access and is_reached:
            return True
    return False


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
