"""Locks between processes: held alone or shared, and left when their holder ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from lunguage_assets.locks import (
    LockHeld,
    exclusive_lock,
    exclusive_lock_at_once,
    shared_lock,
)


def test_several_share_a_lock_that_nobody_holds_alone_meanwhile(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with (
        shared_lock(lock),
        shared_lock(lock),
        pytest.raises(LockHeld),
        exclusive_lock_at_once(lock),
    ):
        pass
    with exclusive_lock_at_once(lock):
        pass


def test_a_holder_that_fails_leaves_its_lock(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with pytest.raises(ZeroDivisionError), exclusive_lock(lock):
        raise ZeroDivisionError
    with exclusive_lock_at_once(lock):
        pass
