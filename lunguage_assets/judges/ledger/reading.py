"""What a ledger holds, read: answers, how a judge has behaved so far, and what was paid.

Everything that is asked of a ledger is asked here; nothing is made, changed or locked. Recording is in
`ledger.py`. Answers may quote reports, so no error carries one.
"""

from __future__ import annotations

import os
import weakref
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    and_,
    case,
    cast,
    column,
    func,
    inspect,
    or_,
    select,
    table,
)
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from lunguage_assets.judges.ledger import exchange
from lunguage_assets.judges.ledger.attempts import COUNTED, Attempt, Settlement, settle, tries_of
from lunguage_assets.judges.ledger.ledger_place import LedgerError as LedgerError
from lunguage_assets.judges.ledger.ledger_place import ledger_url, reading_engine, shown_place

CHUNK = 500
"""Keys that one statement names."""

OPEN_BATCHES: frozenset[str] = frozenset({"intended", "submitted"})
"""States of a batch of which answers may still come."""

BILLIONTHS = 1_000_000_000  # dollars are added up as whole billionths: the same sum in any order

METADATA = MetaData()
ATTEMPTS = Table(
    "judge_attempts",
    METADATA,
    Column("key", String(64), nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("receipt", String(32), nullable=False, unique=True),
    Column("judge", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("answer", Text),
    Column("valid", Boolean, nullable=False),
    Column("failure", Text),
    Column("refused", Boolean, nullable=False),
    Column("returned_model", Text),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("reasoning_tokens", BigInteger, nullable=False),
    Column("cost_usd", Double),
    Column("latency_s", Double, nullable=False),
    Column("time", String(27), nullable=False),
    Column("prompt", Text),
    PrimaryKeyConstraint("key", "attempt"),
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

    def __init__(self, engine: Engine, place: str) -> None:
        self._engine, self._place, self._process = engine, place, os.getpid()
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
            return found if inspect(connection).has_table(ATTEMPTS.name) else None

    @property
    def place(self) -> str:
        """Where it is, without user or password: fit for messages."""
        return self._place

    def answers(self, keys: Sequence[str]) -> dict[str, Settlement]:
        """The settled ones among `keys`: the first valid answer, or invalid once all its tries were (see
        `attempts.settle`).
        """
        with self._reading() as connection:
            return settled(connection, list(dict.fromkeys(keys)))

    def answers_of(self, models: Sequence[str], keys: Sequence[str]) -> list[Attempt]:
        """Recorded replies to `keys` that were not used because one of these models gave them, in the order
        of key and recording.
        """
        c, found = ATTEMPTS.c, list[Attempt]()
        with self._reading() as connection:
            for start in range(0, len(keys) if models else 0, CHUNK):
                those = (
                    c.key.in_(keys[start : start + CHUNK])
                    & (c.failure == "wrong_model")
                    & c.returned_model.in_(models)
                )
                rows = connection.execute(
                    select(*(c[name] for name in exchange.PLAIN)).where(those).order_by(c.key, c.attempt)
                )
                found += [Attempt(**row) for row in rows.mappings()]
        return found

    def experience(self, judge: str, task: str, model: str) -> Experience | None:
        """How this judge, bound to this model, has answered; None when no reply with known tokens is
        recorded.

        Args:
            judge: the slot's name.
            task: a `requests.Task`.
            model: as requested.
        """
        c = ATTEMPTS.c
        replied = c.valid | c.failure.in_(exchange.REPLIED)
        metered = replied & (c.input_tokens > 0)
        measures = (
            func.count().filter(metered),
            func.count(c.key.distinct()),
            func.count(),
            func.count().filter(replied),
            func.avg(c.input_tokens).filter(metered),
            func.avg(c.output_tokens).filter(metered),
            func.avg(c.latency_s).filter(metered),
        )
        query = select(*measures).where((c.judge == judge) & (c.stage == task) & (c.model == model))
        with self._reading() as connection:
            replies, questions, attempts, paid, asked, answered, latency = connection.execute(query).one()
        if not replies:
            return None
        return Experience(
            replies, attempts / questions, paid / questions, float(asked), float(answered), float(latency)
        )

    def out_in_batches(self, judge: str) -> int:
        """Questions of a judge that wait in batches at its provider: sent, to be paid, and not yet
        answered.
        """
        batches = table("judge_batches", column("judge"), column("questions"), column("state"))
        query = select(func.sum(batches.c.questions)).where(
            (batches.c.judge == judge) & batches.c.state.in_(sorted(OPEN_BATCHES))
        )
        with self._reading() as connection:
            there = inspect(connection).has_table(batches.name)
            return int(connection.scalar(query) or 0) if there else 0

    def recent_calls(self, judge: str, model: str, limit: int) -> list[tuple[str | None, str | None]]:
        """Failure and returned model of the last `limit` attempts of a judge with a model, newest first."""
        c = ATTEMPTS.c
        those = select(c.failure, c.returned_model).where((c.judge == judge) & (c.model == model))
        with self._reading() as connection:
            rows = connection.execute(those.order_by(c.time.desc(), c.receipt).limit(limit))
            return [(failure, returned) for failure, returned in rows]

    def statistics(self) -> pd.DataFrame:
        """Per judge, task and requested model: see `exchange.STATISTICS`."""
        c = ATTEMPTS.c
        groups = (c.judge, c.stage, c.model)
        replied = c.valid | c.failure.in_(exchange.REPLIED)
        measures = (
            func.count().label("attempts"),
            func.count().filter(c.valid).label("valid"),
            func.count().filter(replied & ~c.valid).label("invalid"),
            func.count().filter(~replied).label("failures"),
            func.count().filter(c.failure == "lost").label("lost"),
            *(
                func.sum(c[name]).label(name)
                for name in ("input_tokens", "output_tokens", "reasoning_tokens")
            ),
            func.coalesce(func.sum(c.cost_usd), 0.0).label("cost_usd"),
            func.count().filter(c.cost_usd.is_(None)).label("unpriced"),
            func.min(c.time).label("first"),
            func.max(c.time).label("last"),
        )
        with self._reading() as connection:
            rows = connection.execute(select(*groups, *measures).group_by(*groups)).mappings().all()
        return exchange.statistics([dict(row) for row in rows])

    def answer_costs(self, judges: Collection[str]) -> list[dict[str, Any]]:
        """The answers in use of these judges and their cost, sorted by judge, stage (the task) and model.

        Only the first valid answer of each question counts: it is the one in use, however often a run was
        interrupted or a call failed. `cost_usd` is what is known, `unpriced` counts answers of unknown cost.
        """
        c = ATTEMPTS.c
        first = select(c.key, func.min(c.attempt).label("attempt")).where(c.valid).group_by(c.key).subquery()
        groups = (c.judge, c.stage, c.model)
        counts = (
            func.count().label("answers"),
            func.sum(c.input_tokens).label("input_tokens"),
            func.sum(c.output_tokens).label("output_tokens"),
            func.coalesce(func.sum(cast(func.round(c.cost_usd * BILLIONTHS), BigInteger)), 0).label("cost"),
            func.sum(case((c.cost_usd.is_(None), 1), else_=0)).label("unpriced"),
        )
        query = (
            select(*groups, *counts)
            .join(first, and_(c.key == first.c.key, c.attempt == first.c.attempt))
            .where(c.judge.in_(sorted(judges)))
            .group_by(*groups)
        )
        with self._reading() as connection:
            found = [dict(row) for row in connection.execute(query).mappings()]
        for row in found:
            row |= {count.name: int(row[count.name]) for count in counts}
            row["cost_usd"] = row.pop("cost") / BILLIONTHS
        return sorted(found, key=lambda row: (row["judge"], row["stage"], row["model"]))

    def spent_since(self, moment: str) -> float:
        """US dollars of all attempts, by anybody, at this time (see `attempts.moment`) or later; what is not
        known counts as nothing.
        """
        with self._reading() as connection:
            found = connection.scalar(
                select(func.coalesce(func.sum(ATTEMPTS.c.cost_usd), 0.0)).where(ATTEMPTS.c.time >= moment)
            )
        return float(found or 0.0)

    def lost(self) -> int:
        """How many calls were sent and not answered before their process was killed."""
        with self._reading() as connection:
            found = select(func.count()).select_from(ATTEMPTS).where(ATTEMPTS.c.failure == "lost")
            return int(connection.scalar(found) or 0)

    def close(self) -> None:
        """Give back the connections; opening anew is possible."""
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._translated(), self._connection() as connection:
            yield connection

    def _connection(self) -> Connection:
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
            cause = (
                type(error.orig).__name__
                if isinstance(error, DBAPIError) and error.orig is not None
                else type(error).__name__
            )
            raise LedgerError(
                f"ledger {self._place}: cannot be used ({cause}); expected a ledger that can be reached, has "
                "room and may be read and written. Mend that, or name another place ($LUNGUAGE_LEDGER); what "
                "was recorded is kept, and a new run asks only for the rest."
            ) from None


def settled(connection: Connection, keys: Sequence[str]) -> dict[str, Settlement]:
    """The settled ones among distinct `keys`."""
    c = ATTEMPTS.c
    replies: dict[str, list[tuple[str | None, str | None]]] = defaultdict(list)
    tries: dict[str, int] = {}
    for start in range(0, len(keys), CHUNK):
        relevant = c.key.in_(keys[start : start + CHUNK]) & or_(c.valid, c.failure.in_(sorted(COUNTED)))
        for key, stage, answer, failure in connection.execute(
            select(c.key, c.stage, c.answer, c.failure).where(relevant).order_by(c.key, c.attempt)
        ):
            replies[key].append((answer, failure))
            tries[key] = tries_of(stage)
    entries = {key: settle(key, those, tries[key]) for key, those in replies.items()}
    return {key: entry for key, entry in entries.items() if entry is not None}


def _closed(engine: Engine, process: int) -> None:
    """Close the connections when the ledger goes or the process ends: SQLite then writes its log into the
    file, which is whole by itself and may be copied. A forked process leaves them to the one that made them.
    """
    if os.getpid() == process:
        engine.dispose()
