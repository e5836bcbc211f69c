"""What a ledger already holds, read without touching it: answers, and how a judge has behaved so far.

For whoever only wants to know what a run would cost: nothing is made, changed or locked here. Recording is in
`ledger.py`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Engine, column, create_engine, func, inspect, select, table
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from lunguage_assets.judges.asking.attempts import Attempt, Entry
from lunguage_assets.judges.asking.exchange import REPLIED
from lunguage_assets.judges.batches.submissions import OPEN
from lunguage_assets.judges.ledger.ledger import ATTEMPTS, Ledger, LedgerError, ledger_url, shown_place


@dataclass(frozen=True, slots=True)
class Experience:
    """How one judge has answered one stage so far.

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


class RecordedAnswers:
    """A ledger that is there, for reading only."""

    def __init__(self, engine: Engine, place: str) -> None:
        self._engine, self._place, self._ledger = engine, place, Ledger(engine, place)

    @classmethod
    def at(cls, where: str | Path) -> RecordedAnswers | None:
        """The ledger at a path or URL; None when there is none.

        An SQLite file is opened read-only; where no other process has it open, also without the files that
        SQLite puts beside it.

        Raises:
            LedgerError: something is there that cannot be read as a ledger.
        """
        url = ledger_url(where)
        if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
            return None
        found = cls(_reading_engine(url), shown_place(url))
        return found if found._has_attempts() else None

    def answers(
        self, keys: Sequence[str], aliases: Sequence[str] = ()
    ) -> tuple[dict[str, Entry], list[Attempt]]:
        """The settled ones among `keys`, and replies to the others under a name that is an alias of the model
        by now.
        """
        entries = self._ledger.answers(keys)
        return entries, self._ledger.answers_of(aliases, [key for key in keys if key not in entries])

    def experience(self, judge: str, stage: str, model: str) -> Experience | None:
        """How this judge, bound to this model, has answered; None when no reply with known tokens is
        recorded.

        Args:
            judge: the slot's name.
            stage: `extract` or `compare`.
            model: as requested.
        """
        c = ATTEMPTS.c
        replied = c.valid | c.failure.in_(REPLIED)
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
        query = select(*measures).where((c.judge == judge) & (c.stage == stage) & (c.model == model))
        try:
            with self._engine.connect() as connection:
                replies, questions, attempts, paid, asked, answered, latency = connection.execute(query).one()
        except SQLAlchemyError as error:
            raise _unreadable(self._place, error) from None
        if not replies:
            return None
        return Experience(
            replies, attempts / questions, paid / questions, float(asked), float(answered), float(latency)
        )

    def recent_calls(self, judge: str, model: str, limit: int) -> list[tuple[str | None, str | None]]:
        """The last `limit` attempts of a judge with a model: how each failed, and which model says that it
        answered.
        """
        c = ATTEMPTS.c
        latest = (
            select(c.failure, c.returned_model)
            .where((c.judge == judge) & (c.model == model))
            .order_by(c.time.desc(), c.receipt)
        )
        try:
            with self._engine.connect() as connection:
                return [(failure, name) for failure, name in connection.execute(latest.limit(limit))]
        except SQLAlchemyError as error:
            raise _unreadable(self._place, error) from None

    def out_in_batches(self, judge: str) -> int:
        """Questions of a judge that wait in batches at its provider: sent, to be paid, and not yet
        answered.
        """
        batches = table("judge_batches", column("judge"), column("questions"), column("state"))
        query = select(func.sum(batches.c.questions)).where(
            (batches.c.judge == judge) & batches.c.state.in_(sorted(OPEN))
        )
        try:
            if not inspect(self._engine).has_table(batches.name):
                return 0
            with self._engine.connect() as connection:
                return int(connection.scalar(query) or 0)
        except SQLAlchemyError as error:
            raise _unreadable(self._place, error) from None

    def _has_attempts(self) -> bool:
        try:
            return inspect(self._engine).has_table(ATTEMPTS.name)
        except SQLAlchemyError as error:
            raise _unreadable(self._place, error) from None


def _reading_engine(url: URL) -> Engine:
    if url.get_backend_name() == "postgresql":
        return create_engine(
            url, poolclass=NullPool, hide_parameters=True, execution_options={"postgresql_readonly": True}
        )
    path = Path(str(url.database))
    unshared = not path.with_name(
        f"{path.name}-wal"
    ).exists()  # nobody writes: SQLite need not make its -wal and -shm files
    address = f"file:{quote(str(path))}?mode=ro{'&immutable=1' if unshared else ''}"
    return create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(address, uri=True),
        poolclass=NullPool,
        hide_parameters=True,
    )


def _unreadable(place: str, error: SQLAlchemyError) -> LedgerError:
    """Database errors hold parameters: only their type goes on."""
    cause = (
        type(error.orig).__name__
        if isinstance(error, DBAPIError) and error.orig is not None
        else type(error).__name__
    )
    return LedgerError(
        f"ledger {place}: cannot be read ({cause}); expected a ledger. Name another place, or none."
    )
