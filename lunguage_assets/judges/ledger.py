"""The ledger: one row per call of a language model, stored before its answer is used.

SQLite or PostgreSQL, safe for several processes. It has no prompts, but answers may
quote reports: no error and no log shows one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.requests import NO_REPLY, FailureKind, Reply, Stage

TRIES = 5
"""How often a model is asked for one answer that it gives unreadably; then the answer
is invalid for good (explicit.md section 2).
"""

_BUSY_TIMEOUT_S = 60
_KEYS_PER_STATEMENT = 500
"""Databases bound how many values a statement may name."""

# Older ledgers say of some unreadable replies that they are refused.
# The first valid reply settles a question, and so does the last unreadable one of all
# tries. Failures without a reply settle nothing. The newest
# comes first, so that of several that settle a question the oldest is read last: what
# another process records later changes no answer.
_SETTLED = sa.text("""
    WITH tried AS (
        SELECT number, key, answer, margin, failure,
            count(failure) OVER (PARTITION BY key ORDER BY number) AS tries
        FROM judge_calls_made
        WHERE key IN :keys
            AND (failure IS NULL OR failure IN ('unreadable', 'refused'))
    )
    SELECT key,
        CASE WHEN failure IS NULL THEN answer END AS answer,
        CASE WHEN failure IS NULL THEN margin END AS margin
    FROM tried WHERE failure IS NULL OR tries >= :tries ORDER BY number DESC
""").bindparams(sa.bindparam("keys", expanding=True), tries=TRIES)

_STATISTICS = sa.text("""
    WITH told AS (
        SELECT *,
            failure IS NULL AS valid,
            coalesce(failure IN ('unreadable', 'refused'), FALSE) AS flawed
        FROM judge_calls_made WHERE time >= :since
    )
    SELECT judge, stage, model,
        count(DISTINCT key) AS questions,
        count(*) AS attempts,
        count(*) FILTER (WHERE valid) AS valid,
        count(*) FILTER (WHERE flawed) AS invalid,
        count(*) FILTER (WHERE NOT valid AND NOT flawed) AS failures,
        -- No prompt has no tokens: 0 means that the service did not say.
        count(*) FILTER (WHERE (valid OR flawed) AND input_tokens > 0) AS metered,
        CAST(sum(input_tokens) AS BIGINT) AS input_tokens,
        CAST(sum(output_tokens) AS BIGINT) AS output_tokens,
        coalesce(sum(cost_usd), 0.0) AS cost_usd,
        count(*) FILTER (WHERE cost_usd IS NULL) AS unpriced,
        min(time) AS first, max(time) AS last
    FROM told GROUP BY judge, stage, model ORDER BY judge, stage, model
""")

# At level DEBUG this logger shows every row, with its answer.
logging.getLogger("sqlalchemy.engine.Engine.ledger").setLevel(logging.WARNING)


class LedgerError(LunguageError):
    """The ledger cannot be opened, read or written.

    An answer that could not be recorded is not used.
    """


def moment(time: datetime) -> str:
    """Write a time as the ledger stores it.

    UTC, microseconds, fixed width, so that text order is time order.
    """
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(slots=True)
class Attempt:
    """A call as it is recorded; where nothing was sent, nothing is paid.

    Attributes:
        key: of its question (`requests.request_key`).
        judge: key of the judge.
        stage: what was asked.
        model: that was requested.
        reply: that came, if one did.
        failure: None: a valid answer; `unreadable`: a reply that came, and was paid,
            but is not used; a `FailureKind`: no reply came.
        cost_usd: at most, where the service may have answered; None: unknown.
        time: when the call began, as `moment` writes it.
    """

    key: str
    judge: str
    stage: Stage
    model: str
    reply: Reply = NO_REPLY
    failure: FailureKind | Literal["unreadable"] | None = None
    cost_usd: float | None = 0.0
    time: str = field(default_factory=lambda: moment(datetime.now(UTC)))


_METADATA = sa.MetaData()
_TEXTS = (
    "key",
    "judge",
    "stage",
    "model",
    "answer",
    "failure",
    "returned_model",
    "time",
)
_NUMBERS = ("input_tokens", "output_tokens", "cost_usd", "margin")
CALLS = sa.Table(
    "judge_calls_made",
    _METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    *(sa.Column(name, sa.Text) for name in _TEXTS),
    *(sa.Column(name, sa.Double) for name in _NUMBERS),
    sa.Index("judge_calls_by_key", "key"),
    sa.Index("judge_calls_by_time", "time"),
)
"""One row per call that has ended; their numbers decide who was first."""


class Settled(NamedTuple):
    """How a question is settled for good.

    Attributes:
        answer: None: it is invalid.
        margin: of the answer, see `Reply`.
    """

    answer: str | None
    margin: float | None


class Ledger:
    """Recorded calls, without their prompts; threads may share it.

    Every method may raise `LedgerError`: nothing was stored then.

    Args:
        engine: connections to the database.
        location: where it is, without user or password: fit for messages.
    """

    def __init__(self, engine: sa.Engine, location: str) -> None:
        self.location = location
        self._engine = engine
        with self._connected() as connection:
            _METADATA.create_all(connection)

    @classmethod
    def open(cls, where: str | Path) -> Self:
        """Open a ledger; make it when it is not there.

        Args:
            where: path of an SQLite file, or `postgresql://...`.

        Raises:
            LedgerError: no driver, no permission, or no database.
        """
        options: dict[str, Any] = {"hide_parameters": True, "logging_name": "ledger"}
        if "://" in str(where):
            with _cause_alone("its URL"):
                # Of whatever scheme: no other database is tried with this one.
                url = sa.make_url(str(where)).set(drivername="postgresql+psycopg2")
                engine = sa.create_engine(url, pool_pre_ping=True, **options)
            return cls(engine, f"postgresql://{url.host}/{url.database}")
        path = _path(where)
        with _cause_alone(str(path)):
            # For its owner only, whatever the process's mask; SQLite gives its -wal and
            # -shm files the same mode.
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            path.chmod(0o600)
        engine = sa.create_engine(
            sa.URL.create("sqlite", database=str(path)),
            connect_args={"timeout": _BUSY_TIMEOUT_S},
            **options,
        )
        sa.event.listen(engine, "connect", _use_write_ahead_log)
        return cls(engine, str(path))

    @classmethod
    def find(cls, where: str | Path) -> Self | None:
        """Open a ledger that is there; None when nothing was ever recorded.

        Args:
            where: as for `open`.
        """
        if "://" not in str(where) and not _path(where).exists():
            return None
        return cls.open(where)

    def close(self) -> None:
        """Give back the connections; SQLite then writes its log into the file."""
        self._engine.dispose()

    def settled(self, keys: Sequence[str]) -> dict[str, Settled]:
        """Look up those of some questions that are settled."""
        settled: dict[str, Settled] = {}
        with self._connected() as connection:
            for start in range(0, len(keys), _KEYS_PER_STATEMENT):
                chunk = list(keys[start : start + _KEYS_PER_STATEMENT])
                for key, *answer in connection.execute(_SETTLED, {"keys": chunk}):
                    settled[key] = Settled(*answer)
        return settled

    def record(self, attempt: Attempt) -> Settled | None:
        """Store a call, and say whether its question is settled now.

        What a database refuses in a text (NUL, lone surrogates) is replaced: a paid
        answer is always recorded, whatever it holds.
        """
        row = asdict(attempt)
        row |= row.pop("reply")
        text = row.pop("text").replace("\x00", "\ufffd")
        row["answer"] = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        with self._connected() as connection:
            connection.execute(sa.insert(CALLS), row)
        # Read back: another process may have been first.
        return self.settled([attempt.key]).get(attempt.key)

    def has_valid(self, judge: str) -> bool:
        """Whether a judge has ever given an answer that could be read."""
        return bool(self.statistics().query("judge == @judge")["valid"].any())

    def spent_today(self) -> float:
        """Sum up the US dollars of the last 24 hours, of all who share the ledger."""
        yesterday = moment(datetime.now(UTC) - timedelta(days=1))
        return float(self.statistics(yesterday)["cost_usd"].sum())

    def statistics(self, since: str = "") -> pd.DataFrame:
        """Count calls by judge, stage and requested model, sorted by them.

        Args:
            since: count calls at this time or later, as `moment` writes it.

        Returns:
            Distinct `questions`; `attempts`, of these `valid`, `invalid` (replies that
            are not used) and `failures` (no reply); `metered` replies (of known tokens)
            with tokens; known `cost_usd`, and the calls of unknown cost (`unpriced`);
            the times of the `first` and the `last`.
        """
        with self._connected() as connection:
            return pd.read_sql(_STATISTICS, connection, params={"since": since})

    @contextmanager
    def _connected(self) -> Iterator[sa.Connection]:
        """Open a transaction, and turn database errors into ours."""
        with _cause_alone(self.location), self._engine.begin() as connection:
            yield connection


@contextmanager
def _cause_alone(location: str) -> Iterator[None]:
    """Turn errors of a database or its file into ours.

    They hold parameters, and these hold answers: only their type is told.
    """
    try:
        yield
    except (SQLAlchemyError, OSError, ImportError) as error:
        cause = type(getattr(error, "orig", None) or error).__name__
        raise LedgerError(
            f"ledger {location}: cannot be used ({cause}); expected a path, or "
            "postgresql://USER@HOST/DATABASE with its driver (pip install "
            "'lunguage-assets[scale]'), that can be reached, has room and may be read "
            "and written. Fix that, or name another place ($LUNGUAGE_LEDGER); what was "
            "recorded is kept, and a new run asks only for the rest."
        ) from None


def _path(where: str | Path) -> Path:
    return Path(where).expanduser().absolute()


def _use_write_ahead_log(connection: Any, _record: Any) -> None:
    """Let readers and a writer work at once; a killed process loses nothing."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
