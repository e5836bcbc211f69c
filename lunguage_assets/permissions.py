"""File rights: report text is for the account that runs this, and nobody else on the machine.

As PostgreSQL does with its data folder, a folder that others can read is refused instead of quietly used.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from lunguage_assets.errors import ConfigurationError

_OTHERS = (
    (stat.S_IRGRP | stat.S_IWGRP | stat.S_IXGRP, stat.S_IXGRP),
    (stat.S_IRWXO, stat.S_IXOTH),
)
"""Per class of other accounts (group, everybody): bits on the folder, and the bit to pass a folder above."""


def set_private_umask() -> None:
    """Let everything that this process makes from now on be for its own account alone."""
    os.umask(0o077)


def open_to_others(folder: Path) -> bool:
    """Whether another account can reach a folder and read, write or enter it; a folder above may bar the
    way.
    """
    if os.name != "posix" or not folder.exists():
        return False
    wanted = folder.resolve()
    own, above = (
        wanted.stat().st_mode,
        [parent.stat().st_mode for parent in wanted.parents],
    )
    return any(
        own & rights and all(mode & passing for mode in above)
        for rights, passing in _OTHERS
    )


def require_private(folder: Path, what: str) -> None:
    """Refuse a folder for report text that other accounts can read. Raises `ConfigurationError`: it is open
    to others; the message has the command that fixes it.
    """
    if open_to_others(folder):
        raise ConfigurationError(
            f"{what} {folder} holds reports of patients, and other accounts of this machine can read it. "
            f"Close it: chmod -R go-rwx '{folder}'"
        )
