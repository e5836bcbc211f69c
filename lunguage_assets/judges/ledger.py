"""The ledger: one row per call of a language model, stored before its answer is used.

SQLite or PostgreSQL, safe for several processes. It has no prompts, but answers may
quote reports: no error and no log shows one.
"""

from __future__ import annotations

import logging
import os
import re
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args
from urllib.parse import quote

import pandas as pd
import sqlalchemy as sa
from pydantic import Field
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from lunguage_assets.errors import LunguageError
from lunguage_assets.judges.requests import MOST_TOKENS, FailureKind

TRIES = 5
"""How often a model is asked for one answer that it gives unreadably; then the answer
is invalid for good (explicit.md section 2).
"""

Flaw = Literal["unreadable", "refused", "wrong_model"]
"""What is wrong with a reply that came, and was paid, but is not used."""

REPLIED: tuple[str, ...] = get_args(Flaw)
COUNTED: frozenset[str] = frozenset({"unreadable", "refused"})
"""Flaws that use up a try: another model's reply says nothing about this one."""

_BUSY_TIMEOUT_S = 60
_KEYS_PER_STATEMENT = 500
"""Databases bound how many values a statement may name."""

_METADATA = sa.MetaData()
CALLS = sa.Table(
    "judge_calls_made",
    _METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("receipt", sa.Text, nullable=False, unique=True),
    sa.Column("key", sa.Text, nullable=False, index=True),
    sa.Column("judge", sa.Text, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("answer", sa.Text),
    sa.Column("margin", sa.Double),
    sa.Column("failure", sa.Text),
    sa.Column("returned_model", sa.Text),
    sa.Column("input_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("reasoning_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost_usd", sa.Double),
    sa.Column("latency_s", sa.Double, nullable=False),
    sa.Column("time", sa.Text, nullable=False, index=True),
)
"""One row per call that has ended; their numbers decide who was first."""

_STATISTICS = sa.text("""
    WITH told AS (
        SELECT *,
            failure IS NULL AS valid,
            coalesce(failure IN ('unreadable', 'refused', 'wrong_model'), FALSE)
                AS flawed
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
        CAST(sum(reasoning_tokens) AS BIGINT) AS reasoning_tokens,
        coalesce(sum(latency_s) FILTER (WHERE input_tokens > 0), 0.0) AS seconds,
        coalesce(sum(cost_usd), 0.0) AS cost_usd,
        count(*) FILTER (WHERE cost_usd IS NULL) AS unpriced,
        min(time) AS first, max(time) AS last
    FROM told GROUP BY judge, stage, model ORDER BY judge, stage, model
""")

# At level DEBUG this logger shows every row, with its answer.
logging.getLogger("sqlalchemy.engine.Engine.ledger").setLevel(logging.WARNING)
_QUIET: dict[str, Any] = {"hide_parameters": True, "logging_name": "ledger"}


class LedgerError(LunguageError):
    """The ledger cannot be opened, read or written.

    An answer that could not be recorded is not used.
    """


def moment(time: datetime) -> str:
    """Write a time as the ledger stores it.

    UTC, microseconds, fixed width, so that text order is time order.
    """
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# What no name and no answer exceeds: only a file that somebody made up has longer ones.
# Names are shown on terminals, which obey control characters.
_Name = Annotated[str, Field(max_length=1_000, pattern=r"^\P{C}*$")]
_Tokens = Annotated[int, Field(ge=0, le=MOST_TOKENS)]
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call as it is recorded; pydantic checks by it those of another ledger.

    Attributes:
        key: of its question (`requests.request_key`).
        judge: key of the judge.
        stage: what was asked.
        model: that was requested.
        answer: the reply's text; None: no reply came.
        failure: None: a valid answer; a `Flaw`: a reply that is not used; a
            `FailureKind`: no reply came.
        returned_model: that answered, as the service names it.
        input_tokens: billed.
        output_tokens: billed, with `reasoning_tokens`.
        reasoning_tokens: billed.
        cost_usd: at most, where the service may have answered; None: unknown.
        latency_s: seconds until the reply.
        margin: see `Reply`.
        time: when the call began, as `moment` writes it.
        receipt: names the call itself: importing it twice stores it once.
    """

    key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    judge: _Name
    stage: Literal["extract", "compare", "structure"]
    model: _Name
    answer: Annotated[str, Field(max_length=4_000_000)] | None = field(
        default=None, repr=False
    )
    failure: FailureKind | Flaw | None = None
    returned_model: _Name | None = None
    input_tokens: _Tokens = 0
    output_tokens: _Tokens = 0
    reasoning_tokens: _Tokens = 0
    cost_usd: Annotated[float, Field(ge=0, le=1e6)] | None = None
    latency_s: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    margin: Annotated[float, Field(allow_inf_nan=False)] | None = None
    time: Annotated[str, Field(pattern=_TIME)] = field(
        default_factory=lambda: moment(datetime.now(UTC))
    )
    receipt: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] = field(
        default_factory=lambda: uuid.uuid4().hex
    )


class Settled(NamedTuple):
    """How a question is settled for good.

    Attributes:
        answer: None: it is invalid.
        margin: of the answer, see `Reply`.
        invalid: how many replies to it, all paid, could not be used.
    """

    answer: str | None
    margin: float | None
    invalid: int


def settle(replies: Sequence[Any], stage: str) -> Settled | None:
    """Decide whether recorded replies settle a question.

    The first valid reply does, and so does the last unreadable one of all tries. A
    report is asked about once: an answer that cannot be read is told so in a question
    of its own (method.md section 8).

    Args:
        replies: rows of the question, in the order of recording.
        stage: of the question.

    Returns:
        None: it is open.
    """
    tries = 1 if stage == "structure" else TRIES
    invalid = sum(reply.failure in COUNTED for reply in replies)
    for reply in replies:
        if reply.failure is None:
            return Settled(reply.answer, reply.margin, invalid)
    return Settled(None, None, invalid) if invalid >= tries else None


class Ledger:
    """Recorded calls, without their prompts.

    Open one by `Ledger.open` or `Ledger.open_read_only`; threads may share it. Every
    method may raise `LedgerError`: nothing was stored then.

    Args:
        engine: connections to the database.
        location: where it is, without user or password: fit for messages.
    """

    def __init__(self, engine: sa.Engine, location: str) -> None:
        self.location = location
        self._engine = engine

    @classmethod
    def open(cls, where: str | Path) -> Self:
        """Open a ledger; make it when it is not there.

        Args:
            where: path of an SQLite file, or `postgresql://...`.

        Raises:
            LedgerError: no driver, no permission, or not a ledger of this version.
        """
        url = _url(where)
        if url.get_backend_name() == "sqlite":
            _make_private(Path(str(url.database)))
            engine = sa.create_engine(
                url, connect_args={"timeout": _BUSY_TIMEOUT_S}, **_QUIET
            )
            sa.event.listen(engine, "connect", _use_write_ahead_log)
        else:
            engine = _postgresql(url, pool_pre_ping=True)
        ledger = cls(engine, _shown(url))
        ledger._require_layout()
        with ledger._connected() as connection:
            _METADATA.create_all(connection)
        return ledger

    @classmethod
    def open_read_only(cls, where: str | Path) -> Self | None:
        """Open a ledger that is there, to be read; None when there is none.

        Args:
            where: as for `open`.

        Raises:
            LedgerError: something is there that is no ledger of this version.
        """
        url = _url(where)
        if url.get_backend_name() == "sqlite":
            path = Path(str(url.database))
            if not path.exists():
                return None
            # Without a log nobody writes; `immutable` keeps SQLite from making one.
            has_log = path.with_name(f"{path.name}-wal").exists()
            options = "mode=ro" if has_log else "mode=ro&immutable=1"
            url = sa.make_url(f"sqlite:///file:{quote(str(path))}?{options}&uri=true")
            engine = sa.create_engine(url, poolclass=NullPool, **_QUIET)
        else:
            engine = _postgresql(url, poolclass=NullPool)
        ledger = cls(engine, _shown(_url(where)))
        ledger._require_layout()
        with ledger._connected() as connection:
            is_there = sa.inspect(connection).has_table(CALLS.name)
        return ledger if is_there else None

    def _require_layout(self) -> None:
        """Refuse the ledger of an earlier version, which has other tables."""
        with self._connected() as connection:
            is_old = sa.inspect(connection).has_table("judge_attempts")
        if is_old:
            raise LedgerError(
                f"ledger {self.location}: expected the layout of this version. Name "
                "another place ($LUNGUAGE_LEDGER): this one stays as it is, for the "
                "version that made it."
            )

    def close(self) -> None:
        """Give back the connections; SQLite then writes its log into the file."""
        self._engine.dispose()

    # --- answers

    def settled(self, keys: Sequence[str]) -> dict[str, Settled]:
        """Look up those of some questions that are settled (see `settle`)."""
        with self._connected() as connection:
            return _settled(connection, list(dict.fromkeys(keys)))

    def record(self, attempt: Attempt) -> Settled | None:
        """Store a call, and say whether its question is settled now."""
        # Read back in the same transaction: another process may have been first.
        row = asdict(attempt) | {"answer": _storable(attempt.answer)}
        with self._connected() as connection:
            connection.execute(sa.insert(CALLS), row)
            return _settled(connection, [attempt.key]).get(attempt.key)

    def rows(self) -> list[dict[str, Any]]:
        """List all calls in the order of recording, without their numbers."""
        query = sa.select(CALLS).order_by(CALLS.c.number)
        with self._connected() as connection:
            rows = [dict(row) for row in connection.execute(query).mappings()]
        for row in rows:
            del row["number"]
        return rows

    def add(self, rows: Sequence[dict[str, Any]]) -> int:
        """Store calls of another ledger that are not here yet; return how many.

        They come after those that are here: what is settled here stays as it is.
        """
        with self._connected() as connection:
            # An exported file may be imported again when it has grown.
            receipts = set(connection.scalars(sa.select(CALLS.c.receipt)))
            new = [row for row in rows if row["receipt"] not in receipts]
            if new:
                connection.execute(sa.insert(CALLS), new)
        return len(new)

    # --- money and counts

    def spent_today(self) -> float:
        """Sum up the US dollars of the last 24 hours, of all who share the ledger."""
        now = datetime.now(UTC)
        day = timedelta(days=1)
        # What is dated further ahead than clocks differ would hold up everybody.
        total = sa.select(sa.func.sum(CALLS.c.cost_usd)).where(
            CALLS.c.time.between(moment(now - day), moment(now + day))
        )
        with self._connected() as connection:
            return float(connection.scalar(total) or 0.0)

    def statistics(self, since: str = "") -> pd.DataFrame:
        """Count calls by judge, stage and requested model, sorted by them.

        Args:
            since: count calls at this time or later, as `moment` writes it.

        Returns:
            Distinct `questions`; `attempts`, of these `valid`, `invalid` (replies that
            are not used) and `failures` (no reply); `metered` replies (of known tokens)
            with tokens and `seconds`; known `cost_usd`, and the calls of unknown cost
            (`unpriced`); the times of the `first` and the `last`.
        """
        with self._connected() as connection:
            return pd.read_sql(_STATISTICS, connection, params={"since": since})

    @contextmanager
    def _connected(self) -> Iterator[sa.Connection]:
        """Open a transaction, and turn database errors into ours.

        They hold parameters, and these hold answers: only their type is told.
        """
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            cause = type(getattr(error, "orig", None) or error).__name__
            raise LedgerError(
                f"ledger {self.location}: cannot be used ({cause}); expected a ledger "
                "that can be reached, has room and may be read and written. Fix that, "
                "or name another place ($LUNGUAGE_LEDGER); what was recorded is kept, "
                "and a new run asks only for the rest."
            ) from None


def _settled(connection: sa.Connection, keys: Sequence[str]) -> dict[str, Settled]:
    replies: dict[str, list[Any]] = defaultdict(list)
    # Failures without a reply and replies of other models settle nothing.
    query = (
        sa.select(CALLS)
        .where(CALLS.c.failure.is_(None) | CALLS.c.failure.in_(sorted(COUNTED)))
        .order_by(CALLS.c.number)
    )
    for start in range(0, len(keys), _KEYS_PER_STATEMENT):
        chunk = keys[start : start + _KEYS_PER_STATEMENT]
        for row in connection.execute(query.where(CALLS.c.key.in_(chunk))):
            replies[row.key].append(row)
    settled = {key: settle(rows, rows[0].stage) for key, rows in replies.items()}
    return {key: question for key, question in settled.items() if question is not None}


def _storable(text: str | None) -> str | None:
    """Replace what a database refuses (NUL, lone surrogates) in a text.

    A paid answer is always recorded, whatever it holds.
    """
    if text is None:
        return None
    without_nul = text.replace("\x00", "\ufffd")
    return without_nul.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _url(where: str | Path) -> sa.URL:
    """Read a location as an SQLAlchemy URL with a driver that is installed."""
    if isinstance(where, Path) or "://" not in where:
        path = Path(where).expanduser().absolute()
        return sa.URL.create("sqlite", database=str(path))
    with suppress(SQLAlchemyError):
        url = sa.make_url(re.sub("^postgres://", "postgresql://", where))
        if url.drivername == "postgresql":
            # From SQLAlchemy 2.1 on, no driver means psycopg 3 only.
            driver = "psycopg" if find_spec("psycopg") else "psycopg2"
            return url.set(drivername=f"postgresql+{driver}")
        if url.get_backend_name() == "postgresql":
            return url
    raise LedgerError(
        "invalid ledger location; expected a path or postgresql://USER@HOST/DATABASE."
    )


def _shown(url: sa.URL) -> str:
    """Describe a location without user or password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{url.host or ''}{port}/{url.database or ''}"


def _postgresql(url: sa.URL, **options: Any) -> sa.Engine:
    try:
        return sa.create_engine(url, **options, **_QUIET)
    except (ImportError, SQLAlchemyError) as error:
        raise LedgerError(
            f"ledger {_shown(url)}: driver {url.drivername!r} cannot be used "
            f"({type(error).__name__}). Install one: pip install "
            "'lunguage-assets[scale]'."
        ) from None


def _make_private(path: Path) -> None:
    """Make a file for its owner only, whatever the process's mask.

    SQLite gives its -wal and -shm files the same mode.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, flags, 0o600)
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)
    except OSError as error:
        raise LedgerError(
            f"ledger {path}: cannot be opened for its owner alone "
            f"({type(error).__name__}); expected a plain file of yours, or a folder "
            "that you may write to. Name another place."
        ) from None


def _use_write_ahead_log(connection: Any, _record: Any) -> None:
    """Let readers and a writer work at once; a killed process loses nothing."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
