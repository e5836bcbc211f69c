"""Whether a delivery without a marker is complete: two looks, some seconds apart, found it unchanged.

Times are not read from the calendar, which a person or a time server may set: they count from the start of
the machine. After a restart, or on another machine, the waiting begins anew, so that nothing is ever taken
too early and nothing waits for a time that does not come.
"""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Reading:
    """A time that can be compared with others of the same `machine` only."""

    machine: str
    seconds: float


NEVER = Reading("", 0.0)


class Clock(Protocol):
    """What tells the time between two looks."""

    def reading(self) -> Reading: ...


class UptimeClock:
    """Seconds since the machine started, time asleep included where the system counts it."""

    def __init__(self) -> None:
        self._machine = _BOOT.read_text().strip() if _BOOT.exists() else socket.gethostname()
        self._source = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

    def reading(self) -> Reading:
        return Reading(self._machine, time.clock_gettime(self._source))


def must_wait_anew(since: Reading, now: Reading) -> bool:
    """The first look can no longer be compared with the present one."""
    return since.machine != now.machine or now.seconds < since.seconds


def has_settled(since: Reading, now: Reading, stable_s: float) -> bool:
    """The two looks are far enough apart."""
    return not must_wait_anew(since, now) and now.seconds - since.seconds >= stable_s
