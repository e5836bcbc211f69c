"""Batches that are out with a provider, kept beside the attempts in the ledger: which questions wait in which
batch.

A batch is recorded before it is sent, so that no second process and no later run sends its questions again;
its money is reserved for as long as it is out.
How batches are sent, watched and collected is in `batching.py`. Questions are known by their keys only.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast

import sqlalchemy as sa

from lunguage_assets.judges.asking.budget import Budget
from lunguage_assets.judges.ledger import claims, spending
from lunguage_assets.judges.ledger.attempts import Attempt, now
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.ledger.reading import OPEN_BATCHES, rows_among, settled

State = Literal["intended", "submitted", "collected", "failed", "void", "lost"]
"""`intended`: about to be sent, or sent and the answer never came; `void`: nothing was sent; `lost`: gone at
the provider.
"""

_METADATA = sa.MetaData()
_BATCHES = sa.Table(
    "judge_batches",
    _METADATA,
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("judge", sa.Text, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("provider", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("questions", sa.BigInteger, nullable=False),
    sa.Column("state", sa.String(9), nullable=False),
    sa.Column("handle", sa.Text),
    sa.Column("found", sa.Boolean, nullable=False),
    sa.Column("owner", sa.String(32), nullable=False),
    sa.Column("beat", sa.BigInteger, nullable=False),
    sa.Column("time", sa.String(27), nullable=False),
)
_QUESTIONS = sa.Table(
    "judge_batch_questions",
    _METADATA,
    sa.Column("batch", sa.String(32), nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("key", sa.String(64), nullable=False),
    sa.PrimaryKeyConstraint("batch", "position"),
    sa.Index("judge_batch_questions_key", "key"),
)


def new_name() -> str:
    """A name that no other batch or run has: 32 hexadecimal digits."""
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Submission:
    """A batch on record.

    `time` is when it was intended. `handle` is the provider's, null until it has answered; `found` when it
    was looked up afterwards, not given in answer to the sending. While it is only intended, its `owner`
    counts up `beat` as a sign of life.
    """

    judge: str
    stage: str
    provider: str
    model: str
    questions: int = 0
    name: str = field(default_factory=new_name)
    state: State = "intended"
    handle: str | None = None
    found: bool = False
    owner: str = ""
    beat: int = 0
    time: str = field(default_factory=now)

    @property
    def open(self) -> bool:
        """Whether answers may still come of it."""
        return self.state in OPEN_BATCHES

    @property
    def age(self) -> timedelta:
        """How long ago it was intended."""
        return datetime.now(UTC) - datetime.fromisoformat(self.time)


class Submissions:
    """The batches on record in a ledger; its tables are made at first use. Every method is one transaction,
    alone among all writers.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        ledger.transaction(_METADATA.create_all)

    def outstanding(self, keys: Sequence[str] | None = None) -> list[Submission]:
        """Open batches, oldest first: all, or those that hold any of `keys`."""

        def read(connection: sa.Connection) -> list[Submission]:
            names = None if keys is None else set(_holding(connection, keys).values())
            rows = connection.execute(
                sa.select(_BATCHES)
                .where(_BATCHES.c.state.in_(OPEN_BATCHES))
                .order_by(_BATCHES.c.time, _BATCHES.c.name)
            )
            return [_submission(row) for row in rows.mappings() if names is None or row["name"] in names]

        return self._ledger.transaction(read)

    def waiting(self, keys: Sequence[str]) -> set[str]:
        """Those of `keys` that wait in an open batch."""
        return set(self._ledger.transaction(lambda connection: _holding(connection, keys)))

    def require_room(self, budget: Budget, judge: str, worst_usd: float) -> None:
        """Assert that batches of that cost at most fit under the day's ceiling.

        Raises:
            BudgetExceeded: they do not.
        """
        self._ledger.transaction(lambda connection: _require_room(connection, budget, judge, worst_usd))

    def claim(
        self,
        intended: Submission,
        keys: Sequence[str],
        worst_usd: float = 0.0,
        budget: Budget | None = None,
    ) -> list[str]:
        """Record a batch of those keys that are neither settled, nor in an open batch, nor being asked by
        single calls, in their order, and reserve its cost; with none left it is not recorded.

        `worst_usd`: what all of `keys` can cost at most.

        Raises:
            BudgetExceeded: the batch does not fit under the day's ceiling.
        """

        def write(connection: sa.Connection) -> list[str]:
            self._ledger.end_dead(connection)
            taken = settled(connection, keys).keys() | _holding(connection, keys).keys()
            taken |= claims.claimed(connection, keys).keys()
            free = [key for key in keys if key not in taken]
            if free:
                part_usd = worst_usd * len(free) / len(keys)
                if budget is not None:
                    _require_room(connection, budget, intended.judge, part_usd)
                connection.execute(sa.insert(_BATCHES), asdict(intended) | {"questions": len(free)})
                questions = [
                    {"batch": intended.name, "position": position, "key": key}
                    for position, key in enumerate(free)
                ]
                connection.execute(sa.insert(_QUESTIONS), questions)
                reserved = {"batch": intended.name, "worst": spending.billionths(part_usd)}
                connection.execute(sa.insert(spending.RESERVED).values(**reserved))
            return free

        return self._ledger.transaction(write)

    def get(self, name: str) -> Submission:
        """The batch as it is on record now."""
        read = sa.select(_BATCHES).where(_BATCHES.c.name == name)
        return self._ledger.transaction(
            lambda connection: _submission(connection.execute(read).mappings().one())
        )

    def keys(self, name: str) -> list[str]:
        """The keys of a batch, in the order in which they were sent."""
        read = sa.select(_QUESTIONS.c.key).where(_QUESTIONS.c.batch == name).order_by(_QUESTIONS.c.position)
        return self._ledger.transaction(lambda connection: list(connection.scalars(read)))

    def handles(self) -> set[str]:
        """Handles of all batches that were ever recorded."""
        read = sa.select(_BATCHES.c.handle).where(_BATCHES.c.handle.is_not(None))
        return self._ledger.transaction(
            lambda connection: {str(handle) for handle in connection.scalars(read)}
        )

    def alive(self, name: str, owner: str) -> bool:
        """Give a sign of life; False when the batch is no longer this owner's to send."""
        return self._change(name, {"beat": _BATCHES.c.beat + 1}, owner=owner)

    def take_over(self, before: Submission, owner: str) -> bool:
        """Become the owner of an intended batch whose owner has given no sign of life since `before`; False
        when it has.
        """
        return self._change(before.name, {"owner": owner}, owner=before.owner, beat=before.beat)

    def submitted(self, name: str, owner: str, handle: str, *, found: bool) -> bool:
        """The provider has it, under this handle."""
        return self._change(name, {"state": "submitted", "handle": handle, "found": found}, owner=owner)

    def finish(self, name: str, state: State, attempts: Sequence[Attempt] = ()) -> bool:
        """Record what came of a batch and that it is no longer open, together or not at all; False when
        another process has done so.
        """

        def write(connection: sa.Connection) -> bool:
            ended = (
                sa.update(_BATCHES)
                .where(_BATCHES.c.name == name, _BATCHES.c.state.in_(OPEN_BATCHES))
                .values(state=state)
            )
            if connection.execute(ended).rowcount != 1:
                return False
            self._ledger.add(connection, attempts)
            _release(connection, name, attempts)
            return True

        return self._ledger.transaction(write)

    def _change(self, name: str, values: dict[str, Any], **expected: Any) -> bool:
        """Change a batch that is only intended, if it is as expected."""
        conditions = [
            _BATCHES.c.name == name,
            _BATCHES.c.state == "intended",
            *(_BATCHES.c[key] == value for key, value in expected.items()),
        ]
        change = sa.update(_BATCHES).where(*conditions).values(**values)
        return self._ledger.transaction(lambda connection: connection.execute(change).rowcount == 1)


def _require_room(connection: sa.Connection, budget: Budget, judge: str, worst_usd: float) -> None:
    gone = claims.over_day(connection, budget.of_day_usd, worst_usd)
    if gone is not None:
        raise budget.of_day_exceeded(judge, gone)


def _release(connection: sa.Connection, name: str, attempts: Sequence[Attempt]) -> None:
    """A batch's money is no longer reserved; answers of unknown cost have cost their part of it."""
    of_batch = spending.RESERVED.c.batch == name
    worst = connection.scalar(sa.select(spending.RESERVED.c.worst).where(of_batch)) or 0
    connection.execute(sa.delete(spending.RESERVED).where(of_batch))
    unknown = [attempt.time for attempt in attempts if attempt.cost_usd is None]
    spending.spend(connection, [(time, int(worst) // len(attempts)) for time in unknown])


def _holding(connection: sa.Connection, keys: Sequence[str]) -> dict[str, str]:
    """Key -> name of the open batch that holds it."""
    joined = _BATCHES.c.name == _QUESTIONS.c.batch
    pairs = sa.select(_QUESTIONS.c.key, _QUESTIONS.c.batch).join(_BATCHES, joined)
    open_ = pairs.where(_BATCHES.c.state.in_(OPEN_BATCHES))
    return dict(rows_among(connection, open_, _QUESTIONS.c.key, keys))


def _submission(row: sa.RowMapping) -> Submission:
    return Submission(**cast("dict[str, Any]", dict(row)))
