"""A ceiling over the last 24 hours for all processes that share a ledger, beside the ceiling of one run.

What others have spent is read from the ledger now and then; nothing here knows a provider or a database.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from lunguage_assets.judges.asking.budget import Budget, BudgetExceeded, Reservation

WINDOW = timedelta(hours=24)

LOOK_EVERY_S = 10.0
LOOK_CLOSELY_EVERY_S = 1.0
CLOSE = 0.1
"""The ledger is asked so often, and more often when less than this share of the ceiling is left."""

RECORDED_WITHIN_S = 5.0
"""A call of this process that has ended so long ago is in the ledger; until then it is counted here."""


class DailyBudget(Budget):
    """A ceiling in US dollars over the last 24 hours, for everybody who records in the same ledger.

    Of this process it holds exactly, as a `Budget` does. Of others it counts what they have recorded: what
    they have in flight, and have spent since the last look, comes on top, as do costs that nobody knows (a
    connection that broke). A batch counts when it is collected.

    Args:
        ceiling_usd: zero or more.
        recorded_since: US dollars recorded in the ledger since a moment, by anybody.
        run: the ceiling of this run, which holds as well, or None.
        clock: seconds that only grow.
        now: the time of day that the ledger records.
    """

    def __init__(
        self,
        ceiling_usd: float,
        recorded_since: Callable[[datetime], float],
        run: Budget | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(ceiling_usd)
        self._recorded_since, self._run, self._clock, self._now = recorded_since, run, clock, now
        self._recorded, self._looked = 0.0, -math.inf
        self._unrecorded: deque[tuple[float, float]] = deque()
        self._unknown: deque[tuple[float, float]] = deque()

    def reserve(self, judge: str, worst_usd: float | None) -> Reservation | None:
        """As of `Budget`, under both ceilings."""
        of_run = self._run.reserve(judge, worst_usd) if self._run is not None else Reservation(None, 0.0)
        if of_run is None:
            return None
        try:
            of_day = self._reserve_of_day(judge, worst_usd)
        except BaseException:
            of_run.settle(0.0)
            raise
        if of_day is None:
            of_run.settle(0.0)
            return None
        return _Both(of_run, of_day)

    def _reserve_of_day(self, judge: str, worst_usd: float | None) -> Reservation | None:
        if worst_usd is None:
            return super().reserve(judge, worst_usd)  # refuses
        with self._lock:
            known = self._spent_by_all()
            if known + worst_usd > self.ceiling_usd:
                raise BudgetExceeded(
                    f"daily budget of ${self.ceiling_usd:.2f}: ${known:.4f} were spent in the "
                    "last 24 hours by all that share the ledger, and the"
                    f" next call of judge {judge!r} could cost up to ${worst_usd:.4f}. All "
                    "answers are kept; run again later, or with a higher"
                    " LUNGUAGE_DAILY_BUDGET, and only the rest is asked."
                )
            waiting = (cost for _, cost in self._unrecorded)
            if math.fsum((known, worst_usd, *self._reserved, *waiting)) > self.ceiling_usd:
                return None
            self._reserved.append(worst_usd)
            return _OfTheDay(self, worst_usd)

    def _spent_by_all(self) -> float:
        """What the ledger says, not looked up at every call, and what of this process no ledger will ever
        say.
        """
        now = self._clock()
        left = self.ceiling_usd - self._recorded
        if now - self._looked >= (LOOK_EVERY_S if left > CLOSE * self.ceiling_usd else LOOK_CLOSELY_EVERY_S):
            while self._unrecorded and self._unrecorded[0][0] < now - RECORDED_WITHIN_S:
                self._unrecorded.popleft()
            self._recorded, self._looked = self._recorded_since(self._now() - WINDOW), now
        while self._unknown and self._unknown[0][0] < now - WINDOW.total_seconds():
            self._unknown.popleft()
        return self._recorded + math.fsum(cost for _, cost in self._unknown)

    def _settle_of_day(self, worst_usd: float, cost_usd: float | None) -> None:
        with self._lock:
            self._reserved.remove(worst_usd)
            cost = worst_usd if cost_usd is None else cost_usd
            self._spent += cost
            (self._unknown if cost_usd is None else self._unrecorded).append((self._clock(), cost))


class _OfTheDay(Reservation):
    """Leave to spend up to `worst_usd` under the daily ceiling."""

    def __init__(self, budget: DailyBudget, worst_usd: float) -> None:
        super().__init__(None, worst_usd)
        self._daily: DailyBudget | None = budget

    def settle(self, cost_usd: float | None) -> None:
        budget, self._daily = self._daily, None
        if budget is not None:
            budget._settle_of_day(self._worst_usd, cost_usd)


class _Both(Reservation):
    """Leave under two ceilings, settled together."""

    def __init__(self, *parts: Reservation) -> None:
        super().__init__(None, 0.0)
        self._parts = parts

    def settle(self, cost_usd: float | None) -> None:
        for part in self._parts:
            part.settle(cost_usd)
