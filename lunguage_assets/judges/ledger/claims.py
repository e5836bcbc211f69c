"""Which questions are on their way to a model, for all processes that share a ledger: who asks them, what
they may cost, and how many were sent of late.

A question is claimed in the transaction that reserves its money and counts it against the rates, and its
claim ends in the one that records what came. Whoever asks gives signs of life; without one the claim ends
by the database's clock. Functions on a connection, each part of a transaction that is alone among all
writers (`Ledger.transaction`); the one who calls them is `asking/desk.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from lunguage_assets.judges.ledger.attempts import Settlement
from lunguage_assets.judges.ledger.reading import BILLIONTHS, METADATA, rows_among, settled
from lunguage_assets.judges.ledger.spending import CLOCKS, billionths, clock, forget_days_before, spend, spent

LEASE_S = 60.0
"""A claim lasts so long after its owner's last sign of life."""

_LONGEST_LEASE_S = 600.0
"""An end farther away than this was set by a clock that has been set back since."""

WINDOW_S = 60.0
_LOOK_AGAIN_S = 0.25
_LONGEST_WAIT_S = 5.0

_NOT_SERVED = frozenset({"rate_limited", "overloaded", "rejected", "authentication"})
"""Failures that use no tokens; after any other one the estimate stands."""


ASKERS = sa.Table(
    "judge_askers",
    METADATA,
    sa.Column("owner", sa.String(32), primary_key=True),
    sa.Column("limiter", sa.String(32), nullable=False),
    sa.Column("judge", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("until", sa.Double, nullable=False),
)
"""Rounds of questions that are being asked, and whose limiter they keep to; `until` in seconds of the
database's clock.
"""

CLAIMS = sa.Table(
    "judge_claims",
    METADATA,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("receipt", sa.String(32), nullable=False, unique=True),
    sa.Column("owner", sa.String(32), nullable=False),
    sa.Column("limiter", sa.String(32), nullable=False),
    sa.Column("judge", sa.Text, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("worst", sa.BigInteger, nullable=False),
    sa.Column("rated", sa.Boolean, nullable=False),
    sa.Column("time", sa.String(27), nullable=False),
)
"""Calls in flight; `worst` is the reserved cost in billionths of a dollar, `rated`: it is in `SENT`."""

SENT = sa.Table(
    "judge_sent",
    METADATA,
    sa.Column("receipt", sa.String(32), primary_key=True),
    sa.Column("limiter", sa.String(32), nullable=False),
    sa.Column("judge", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Index("judge_sent_at", "judge", "model", "at"),
)
"""Calls of the last minute of judges that have a rate limit."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for the calls of one round of questions: the judge's limits, whose limiter it keeps to, and
    the dollars that all who share the ledger may spend in 24 hours (None: any).
    """

    judge: str
    model: str
    limiter: str
    in_flight: int
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    daily_usd: float | None = None

    @property
    def whose(self) -> dict[str, str]:
        """Columns that say whose limits count."""
        return {"limiter": self.limiter, "judge": self.judge, "model": self.model}

    @property
    def rated(self) -> bool:
        """Whether there is a limit by the minute."""
        return self.requests_per_minute is not None or self.tokens_per_minute is not None


@dataclass(frozen=True, slots=True)
class Wish:
    """One call that would go out now: `receipt` names it, `tokens` is an estimate, `worst_usd` its cost at
    most (0: unknown, and no budget asks).
    """

    key: str
    receipt: str
    stage: str
    time: str
    tokens: int = 0
    worst_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """`go`: claimed, send it; `settled`: the ledger has `entry`; `taken`: another asks it; `wait`: not before
    `wait_s`; `spent`: `spent_usd` of the day are gone, and no call in flight can mend that.
    """

    kind: Literal["go", "settled", "taken", "wait", "spent"]
    entry: Settlement | None = None
    wait_s: float = 0.0
    spent_usd: float = 0.0


# --- who asks


def askers(connection: sa.Connection) -> tuple[float, set[str], set[str]]:
    """The database's time, the owners that ask, and those that have given no sign of life for too long."""
    query = sa.select(CLOCKS[connection.dialect.name], ASKERS.c.owner, ASKERS.c.until)
    rows = connection.execute(query).all()
    now = float(rows[0][0]) if rows else clock(connection)
    alive = {owner for _, owner, until in rows if now <= until <= now + _LONGEST_LEASE_S}
    return now, alive, {owner for _, owner, _ in rows} - alive


def sign(connection: sa.Connection, owner: str, terms: Terms, until: float) -> None:
    """An owner begins to ask, or asks again after it was taken for dead."""
    connection.execute(sa.insert(ASKERS).values(owner=owner, until=until, **terms.whose))


def prolong(connection: sa.Connection, owner: str, until: float) -> None:
    """A sign of life of an owner that asks; nothing when it was taken for dead."""
    connection.execute(sa.update(ASKERS).where(ASKERS.c.owner == owner).values(until=until))


def forget(connection: sa.Connection, owners: Collection[str]) -> list[dict[str, Any]]:
    """End owners and their claims; the claims that were open, for whoever knows what became of them."""
    mine = CLAIMS.c.owner.in_(owners)
    open_ = [dict(row) for row in connection.execute(sa.select(CLAIMS).where(mine)).mappings()]
    connection.execute(sa.delete(CLAIMS).where(mine))
    connection.execute(sa.delete(ASKERS).where(ASKERS.c.owner.in_(owners)))
    return open_


# --- claiming


def claim(
    connection: sa.Connection, owner: str, terms: Terms, wishes: Sequence[Wish], now: float
) -> list[Verdict]:
    """One verdict per wish, in their order; those that may go are claimed and their money is reserved."""
    keys = [wish.key for wish in wishes]
    entries, taken = settled(connection, keys), claimed(connection, keys)
    room = _Room(connection, terms, now)
    verdicts, granted = list[Verdict](), list[Wish]()
    for wish in wishes:
        if (entry := entries.get(wish.key)) is not None:
            verdicts.append(Verdict("settled", entry))
        elif wish.key in taken:  # by this very call, where a commit succeeded and its word was lost
            verdicts.append(Verdict("go" if taken[wish.key] == wish.receipt else "taken"))
        else:
            verdicts.append(room.verdict(wish))
            if verdicts[-1].kind == "go":
                granted.append(wish)
                taken[wish.key] = wish.receipt
    if granted:
        calls = [
            {"owner": owner, "key": wish.key, "receipt": wish.receipt, "stage": wish.stage, "time": wish.time}
            | {"worst": billionths(wish.worst_usd), "rated": terms.rated, **terms.whose}
            for wish in granted
        ]
        connection.execute(sa.insert(CLAIMS), calls)
    if granted and terms.rated:
        sent = [{"receipt": one.receipt, "at": now, "tokens": one.tokens, **terms.whose} for one in granted]
        connection.execute(sa.insert(SENT), sent)
    return verdicts


def claimed(connection: sa.Connection, keys: Sequence[str]) -> dict[str, str]:
    """Those of `keys` that somebody asks, and the receipt of the call."""
    query = sa.select(CLAIMS.c.key, CLAIMS.c.receipt)
    return dict(rows_among(connection, query, CLAIMS.c.key, keys))


def give_back(connection: sa.Connection, receipt: str) -> None:
    """End the claim of a call that was never sent: it counts for nothing."""
    connection.execute(sa.delete(CLAIMS).where(CLAIMS.c.receipt == receipt))
    connection.execute(sa.delete(SENT).where(SENT.c.receipt == receipt))


class _Room:
    """What a judge may still send now, over all who ask it; each of several gets an equal part of its limits,
    so that none waits for another's end.
    """

    def __init__(self, connection: sa.Connection, terms: Terms, now: float) -> None:
        self._terms, self._now = terms, now
        limiters = sa.select(sa.func.count(ASKERS.c.limiter.distinct())).where(_of(ASKERS, terms))
        self._parts = connection.scalar(limiters) or 1
        own = sa.func.sum(sa.case((CLAIMS.c.limiter == terms.limiter, 1), else_=0))
        row = connection.execute(sa.select(sa.func.count(), own).where(_of(CLAIMS, terms))).one()
        self._open, self._own = int(row[0]), int(row[1] or 0)
        self._calls = self._tokens = (0.0, 0.0)
        self._oldest = now
        if terms.rated:
            self._read_minute(connection)
        self._spent = self._reserved = 0
        if terms.daily_usd is not None:
            self._spent, self._reserved = spent(connection, now), _reserved(connection)

    def verdict(self, wish: Wish) -> Verdict:
        """Go, wait or spent; what may go is counted at once."""
        worst = billionths(wish.worst_usd)
        if (ceiling := self._terms.daily_usd) is not None:
            if self._spent + worst > billionths(ceiling):
                return Verdict("spent", spent_usd=self._spent / BILLIONTHS)
            if self._spent + self._reserved + worst > billionths(ceiling):
                return Verdict("wait", wait_s=_LOOK_AGAIN_S)
        if (wait_s := self._wait_s(wish.tokens)) > 0:
            return Verdict("wait", wait_s=wait_s)
        self._open, self._own, self._reserved = self._open + 1, self._own + 1, self._reserved + worst
        self._calls = self._calls[0] + 1, self._calls[1] + 1
        self._tokens = self._tokens[0] + wish.tokens, self._tokens[1] + wish.tokens
        return Verdict("go")

    def _wait_s(self, tokens: int) -> float:
        terms = self._terms
        if self._open >= terms.in_flight or self._own >= max(1, terms.in_flight // self._parts):
            return _LOOK_AGAIN_S
        # a call in flight may soon give back tokens that it did not use
        for limit, (all_, own), amount, longest_s in (
            (terms.requests_per_minute, self._calls, 1, _LONGEST_WAIT_S),
            (terms.tokens_per_minute, self._tokens, tokens, _LOOK_AGAIN_S if self._open else _LONGEST_WAIT_S),
        ):
            if limit is None:
                continue
            # what is larger than all of a limit, or of its part, goes alone
            if (all_ > 0 and all_ + amount > limit) or (own > 0 and own + amount > limit / self._parts):
                return min(max(self._oldest + WINDOW_S - self._now, _LOOK_AGAIN_S), longest_s)
        return 0.0

    def _read_minute(self, connection: sa.Connection) -> None:
        c = SENT.c
        own = sa.case((c.limiter == self._terms.limiter, 1), else_=0)
        sums = (sa.func.sum(own), sa.func.sum(c.tokens), sa.func.sum(own * c.tokens), sa.func.min(c.at))
        # what is farther ahead was sent by a clock that has been set back since
        of_minute = _of(SENT, self._terms) & c.at.between(self._now - WINDOW_S, self._now + WINDOW_S)
        calls, *row = connection.execute(sa.select(sa.func.count(), *sums).where(of_minute)).one()
        if calls:
            own_calls, tokens, own_tokens, self._oldest = map(float, row)
            self._calls, self._tokens = (float(calls), own_calls), (tokens, own_tokens)


def _of(table: sa.Table, terms: Terms) -> sa.ColumnElement[bool]:
    """Rows of the same judge and model, by whomever."""
    return (table.c.judge == terms.judge) & (table.c.model == terms.model)


# --- ends


def _reserved(connection: sa.Connection) -> int:
    return int(connection.scalar(sa.select(sa.func.sum(CLAIMS.c.worst))) or 0)


def end(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Attempts have been recorded: their claims end, and what they cost is spent; the receipts of those that
    had none.
    """
    receipts = [row["receipt"] for row in rows]
    c = CLAIMS.c
    those = sa.delete(CLAIMS).returning(c.receipt, c.worst, c.rated)
    ended = {receipt: row for receipt, *row in rows_among(connection, those, c.receipt, receipts)}
    costs = ((row["time"], row["cost_usd"], ended.get(row["receipt"], (0, False))[0]) for row in rows)
    spend(connection, ((time, worst if cost is None else billionths(cost)) for time, cost, worst in costs))
    used = [
        {"of": row["receipt"], "used": row["input_tokens"] + row["output_tokens"]}
        for row in rows
        if ended.get(row["receipt"], (0, False))[1] and (row["input_tokens"] or row["failure"] in _NOT_SERVED)
    ]
    if used:
        correct = sa.update(SENT).where(SENT.c.receipt == sa.bindparam("of"))
        connection.execute(correct.values(tokens=sa.bindparam("used")), used)
    return [receipt for receipt in receipts if receipt not in ended]


def prune(connection: sa.Connection, now: float) -> None:
    """Drop what no limit and no budget asks for any more."""
    connection.execute(sa.delete(SENT).where(SENT.c.at < now - WINDOW_S))
    forget_days_before(connection, now)
