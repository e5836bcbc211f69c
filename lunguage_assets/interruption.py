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
from contextlib import contextmanager, suppress

_SOON = 0.05
"""Seconds until a signal that was swallowed is answered again."""


def is_interruption(error: object) -> bool:
    """Whether an exception, or a type of exceptions, is the answer to a signal: Python's or Dagster's.

    Dagster's is known by its name, since importing Dagster takes seconds.
    """
    kind = error if isinstance(error, type) else type(error)
    return issubclass(kind, KeyboardInterrupt) or kind.__name__ == "DagsterExecutionInterruptedError"


@contextmanager
def answering_signals() -> Iterator[None]:
    """Ctrl-C and SIGTERM raise KeyboardInterrupt in the main thread, also in a process of the background.

    What a script starts in the background ignores SIGINT, so the handler is set whatever it was before. An
    exception that Python swallows is raised again a moment later. Neither Python nor SQLAlchemy, whose pools
    log what interrupts their closing, says anything of it.
    """
    hook, pools = sys.unraisablehook, logging.getLogger("sqlalchemy.pool")
    level = pools.level
    handlers = {
        number: signal.signal(number, signal.default_int_handler)
        for number in (signal.SIGINT, signal.SIGTERM)
    }

    def again(unraisable: sys.UnraisableHookArgs) -> None:
        if not is_interruption(unraisable.exc_type):
            hook(unraisable)
            return
        later = threading.Timer(_SOON, _signal_again)
        later.daemon = True
        later.start()

    sys.unraisablehook = again
    pools.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        pools.setLevel(level)
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def noticing_signals() -> Iterator[Callable[[], bool]]:
    """Tells whether this process was asked to stop since it was asked before, whatever became of the
    exception.

    Dagster replaces the handlers of signals, and takes an exception in the setting up of a run for a failure.
    The wake-up descriptor gets every signal all the same; only the main thread can have one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield lambda: bool({signal.SIGINT, signal.SIGTERM} & set(_received(reader)))
        finally:
            signal.set_wakeup_fd(before, warn_on_full_buffer=False)


def _received(reader: socket.socket) -> bytes:
    with suppress(BlockingIOError):
        return reader.recv(4096)
    return b""


def _signal_again() -> None:
    """A signal proper: it ends waiting, as what `interrupt_main` imitates does not."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
