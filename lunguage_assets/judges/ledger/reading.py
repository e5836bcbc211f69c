"""What a ledger holds, read: answers, how a judge has behaved so far, and what was paid.

Everything that is asked of a ledger is asked here; nothing is made, changed or locked. Recording is in
`ledger.py`. Answers may quote reports, so no error carries one.
"""

from __future__ import annotations

import os
import weakref
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from lunguage_assets.judges.ledger.attempts import (
    COUNTED,
    REPLIED,
    Attempt,
    Settlement,
    moment,
    settle,
    tries_of,
)
from lunguage_assets.judges.ledger.exchange import STATISTICS
from lunguage_assets.judges.ledger.ledger_place import LedgerError, ledger_url, reading_engine, shown_place

_AT_A_TIME = 500

PLAIN: tuple[str, ...] = tuple(field.name for field in fields(Attempt))
"""Columns that are fields of an `Attempt`, as they are."""

_GROUP = itemgetter(*STATISTICS.key)

METADATA = sa.MetaData()
ATTEMPTS = sa.Table(
    "judge_attempts",
    METADATA,
    sa.Column("key", sa.String(64), nullable=False),
    sa.Column("attempt", sa.BigInteger, nullable=False),
    sa.Column("receipt", sa.String(32), nullable=False, unique=True),
    sa.Column("judge", sa.Text, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("answer", sa.Text),
    sa.Column("valid", sa.Boolean, nullable=False),
    sa.Column("failure", sa.Text),
    sa.Column("refused", sa.Boolean, nullable=False),
    sa.Column("returned_model", sa.Text),
    sa.Column("input_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("reasoning_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost_usd", sa.Double),
    sa.Column("latency_s", sa.Double, nullable=False),
    sa.Column("time", sa.String(27), nullable=False),
    sa.Column("prompt", sa.Text),  # of ledgers from before; null here
    sa.PrimaryKeyConstraint("key", "attempt"),
)
"""One row per attempt; `attempt` numbers those of a key from 1 in the order of recording, which decides who
was first.
"""


@dataclass(frozen=True, slots=True)
class Experience:
    """How one judge has answered one task so far.

    `replies` counts replies whose tokens are known; tokens and seconds are means per reply (output with
    reasoning). `calls` and `paid_calls` are per question: attempts of any kind, and those that brought a
    reply.
    """

    replies: int
    calls: float
    paid_calls: float
    input_tokens: float
    output_tokens: float
    latency_s: float


class LedgerReader:
    """A ledger that is there. Threads may share one, and so may processes that fork."""

    def __init__(self, engine: sa.Engine, place: str) -> None:
        """`place`: where it is, without user or password: fit for messages."""
        self.place = place
        self._engine, self._process = engine, os.getpid()
        weakref.finalize(self, _closed, engine, self._process)

    @classmethod
    def at(cls, where: str | Path) -> LedgerReader | None:
        """The ledger at a path or URL, for reading only; None when there is none.

        An SQLite file is opened read-only; where no other process has it open, also without the files that
        SQLite puts beside it.

        Raises:
            LedgerError: something is there that cannot be read as a ledger.
        """
        url = ledger_url(where)
        if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
            return None
        found = LedgerReader(reading_engine(url), shown_place(url))
        with found._reading() as connection:
            return found if sa.inspect(connection).has_table(ATTEMPTS.name) else None

    def answers(self, keys: Sequence[str]) -> dict[str, Settlement]:
        """The settled ones among `keys`: the first valid answer, or invalid once all its tries were (see
        `attempts.settle`).
        """
        with self._reading() as connection:
            return settled(connection, list(dict.fromkeys(keys)))

    def experience(self, judge: str, task: str, model: str) -> Experience | None:
        """How this judge, bound to this model, has answered; None when no reply with known tokens is
        recorded.

        Args:
            judge: the slot's name.
            task: a `requests.Task`.
            model: as requested.
        """
        c = ATTEMPTS.c
        replied = c.valid | c.failure.in_(REPLIED)
        metered = replied & (c.input_tokens > 0)
        measures = (
            sa.func.count().filter(metered),
            sa.func.count(c.key.distinct()),
            sa.func.count(),
            sa.func.count().filter(replied),
            sa.func.avg(c.input_tokens).filter(metered),
            sa.func.avg(c.output_tokens).filter(metered),
            sa.func.avg(c.latency_s).filter(metered),
        )
        query = sa.select(*measures).where((c.judge == judge) & (c.stage == task) & (c.model == model))
        with self._reading() as connection:
            replies, questions, attempts, paid, asked, answered, latency = connection.execute(query).one()
        if not replies:
            return None
        return Experience(
            replies, attempts / questions, paid / questions, float(asked), float(answered), float(latency)
        )

    def recent_usage(self, judge: str, model: str) -> list[tuple[str, float, int]]:
        """Receipt, seconds ago and tokens of the calls of the last minute of a judge with a model."""
        c, now = ATTEMPTS.c, datetime.now(UTC)
        since = (c.judge == judge) & (c.model == model) & (c.time >= moment(now - timedelta(minutes=1)))
        with self._reading() as connection:
            rows = connection.execute(
                sa.select(c.receipt, c.time, c.input_tokens + c.output_tokens).where(since)
            ).all()
        ago = ((receipt, now - datetime.fromisoformat(time), tokens) for receipt, time, tokens in rows)
        return [(receipt, max(0.0, one.total_seconds()), tokens) for receipt, one, tokens in ago]

    def statistics(self) -> pd.DataFrame:
        """Per judge, task and requested model, sorted by them: see `exchange.STATISTICS`."""
        c = ATTEMPTS.c
        groups = (c.judge, c.stage, c.model)
        replied = c.valid | c.failure.in_(REPLIED)
        measures = (
            sa.func.count().label("attempts"),
            sa.func.count().filter(c.valid).label("valid"),
            sa.func.count().filter(replied & ~c.valid).label("invalid"),
            sa.func.count().filter(~replied).label("failures"),
            sa.func.count().filter(c.failure == "lost").label("lost"),
            *(
                sa.cast(sa.func.sum(c[name]), sa.BigInteger).label(name)
                for name in ("input_tokens", "output_tokens", "reasoning_tokens")
            ),
            sa.func.coalesce(sa.func.sum(c.cost_usd), 0.0).label("cost_usd"),
            sa.func.count().filter(c.cost_usd.is_(None)).label("unpriced"),
            sa.func.min(c.time).label("first"),
            sa.func.max(c.time).label("last"),
        )
        with self._reading() as connection:
            rows = connection.execute(sa.select(*groups, *measures).group_by(*groups)).mappings().all()
        return STATISTICS.frame(sorted(map(dict, rows), key=_GROUP))

    def spent_since(self, moment: str) -> float:
        """US dollars of all attempts, by anybody, at this time (see `attempts.moment`) or later; what is not
        known counts as nothing.
        """
        paid = sa.select(sa.func.sum(ATTEMPTS.c.cost_usd)).where(ATTEMPTS.c.time >= moment)
        with self._reading() as connection:
            return float(connection.scalar(paid) or 0.0)

    def lost(self) -> int:
        """How many calls were sent and not answered before their process was killed."""
        found = sa.select(sa.func.count()).where(ATTEMPTS.c.failure == "lost")
        with self._reading() as connection:
            return int(connection.scalar(found) or 0)

    def close(self) -> None:
        """Give back the connections; opening anew is possible."""
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._translated(), self._connection() as connection:
            yield connection

    def _connection(self) -> sa.Connection:
        if os.getpid() != self._process:  # a forked process must not speak on its parent's connections
            self._engine.dispose(close=False)
            self._process = os.getpid()
        return self._engine.connect()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Database errors hold parameters, which hold answers: only their type goes on."""
        try:
            yield
        except SQLAlchemyError as error:
            cause = type(getattr(error, "orig", None) or error).__name__
            raise LedgerError(
                f"ledger {self.place}: cannot be used ({cause}); expected a ledger that can be reached, has "
                "room and may be read and written. Fix that, or name another place ($LUNGUAGE_LEDGER); what "
                "was recorded is kept, and a new run asks only for the rest."
            ) from None


def settled(connection: sa.Connection, keys: Sequence[str]) -> dict[str, Settlement]:
    """The settled ones among distinct `keys`."""
    c = ATTEMPTS.c
    replies: dict[str, list[tuple[str | None, str | None]]] = defaultdict(list)
    tries: dict[str, int] = {}
    relevant = c.valid | c.failure.in_(sorted(COUNTED))
    query = sa.select(c.key, c.stage, c.answer, c.failure).where(relevant).order_by(c.key, c.attempt)
    for key, stage, answer, failure in rows_among(connection, query, c.key, keys):
        replies[key].append((answer, failure))
        tries[key] = tries_of(stage)
    entries = {key: settle(key, those, tries[key]) for key, those in replies.items()}
    return {key: entry for key, entry in entries.items() if entry is not None}


def rows_among(
    connection: sa.Connection, statement: Any, column: sa.Column[Any], values: Sequence[str]
) -> Iterator[Any]:
    """The rows that a statement gives for these values of a column; some values at a time, because a
    statement cannot name any number.
    """
    for start in range(0, len(values), _AT_A_TIME):
        yield from connection.execute(statement.where(column.in_(values[start : start + _AT_A_TIME])))


def _closed(engine: sa.Engine, process: int) -> None:
    """Close the connections when the ledger goes or the process ends: SQLite then writes its log into the
    file, which is whole by itself and may be copied. A forked process leaves them to the one that made them.
    """
    if os.getpid() == process:
        engine.dispose()
