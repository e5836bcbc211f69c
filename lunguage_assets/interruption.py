"""Being asked to stop, by Ctrl-C or SIGTERM: answered wherever the process is, and without noise.

Python answers a signal by an exception at whatever it is doing. If that is the clearing away of an object, it
swallows the exception, and the process would go on as if nobody had asked.
"""

from __future__ import annotations

import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SOON = 0.05
"""Seconds until a signal that was swallowed is answered again."""

_POOLS = ("NullPool", "QueuePool", "SingletonThreadPool")
"""SQLAlchemy's connection pools, which log any exception that comes up while they close a connection, and
then raise it.
"""


def is_interruption(error: object) -> bool:
    """Whether an exception, or a type of exceptions, is the answer to a signal: Python's or Dagster's.

    Dagster's is known by its name, since importing Dagster takes seconds.
    """
    kind = error if isinstance(error, type) else type(error)
    return issubclass(kind, KeyboardInterrupt) or kind.__name__ == "DagsterExecutionInterruptedError"


@contextmanager
def answering_signals() -> Iterator[None]:
    """Ctrl-C and SIGTERM raise KeyboardInterrupt in the main thread, also in a process that a script started
    in the background.

    What is started in the background ignores SIGINT. Dagster answers SIGTERM as it answers SIGINT, so that
    nothing but SIGKILL would stop it.
    """
    before = {
        number: signal.signal(number, signal.default_int_handler)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        with answering_swallowed_signals():
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def answering_swallowed_signals() -> Iterator[None]:
    """The answer to a signal that Python swallows is given again a moment later, and neither Python nor
    SQLAlchemy tells of it.
    """
    before = sys.unraisablehook

    def again(unraisable: sys.UnraisableHookArgs) -> None:
        if not is_interruption(unraisable.exc_type):
            before(unraisable)
            return
        later = threading.Timer(_SOON, _signal_again)
        later.daemon = True
        later.start()

    loggers = [logging.getLogger(f"sqlalchemy.pool.impl.{name}") for name in _POOLS]
    sys.unraisablehook = again
    for logger in loggers:
        logger.addFilter(_is_no_interruption)
    try:
        yield
    finally:
        sys.unraisablehook = before
        for logger in loggers:
            logger.removeFilter(_is_no_interruption)


@contextmanager
def noticing_signals() -> Iterator[Callable[[], bool]]:
    """Tells whether this process was asked to stop since it was asked before, even if the exception never
    arrived.

    Whatever becomes of the exception, the wake-up descriptor gets every signal. In other threads than the
    main one nothing is noticed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    reader, writer = socket.socketpair()
    with reader, writer, answering_swallowed_signals():
        reader.setblocking(False)
        writer.setblocking(False)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield lambda: bool({signal.SIGINT, signal.SIGTERM} & set(_received(reader)))
        finally:
            signal.set_wakeup_fd(before, warn_on_full_buffer=False)


def _signal_again() -> None:
    """A signal proper: it ends waiting, as what `interrupt_main` imitates does not."""
    if callable(signal.getsignal(signal.SIGINT)):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _received(reader: socket.socket) -> bytes:
    try:
        return reader.recv(4096)
    except BlockingIOError:
        return b""


def _is_no_interruption(record: logging.LogRecord) -> bool:
    return not (isinstance(record.exc_info, tuple) and is_interruption(record.exc_info[0]))
