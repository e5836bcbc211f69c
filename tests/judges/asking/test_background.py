"""Judges share one event loop in a thread apart, and it lives as long as one of them needs it."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError

import pytest

from lunguage_assets.judges.asking.background import Background


async def here() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def nothing() -> None:
    return None


def soon(true: Callable[[], bool]) -> bool:
    for _ in range(250):
        if true():
            return True
        time.sleep(0.02)
    return true()


def test_all_work_is_in_one_loop_until_the_last_holder_lets_go() -> None:
    gc.collect()  # judges of earlier tests may hold the loop in circles
    one, two, three = Background(1.0), Background(1.0), Background(1.0)
    loop = one.run(here())
    assert two.run(here()) is loop
    one.close(nothing)
    one.close(nothing)
    assert two.run(here()) is loop, "another still holds it"
    del two
    assert soon(loop.is_closed)
    again = three.run(here())
    assert again is not loop
    assert not again.is_closed()


def test_interrupting_one_leaves_the_others_work_alone() -> None:
    one, two = Background(1.0), Background(1.0)
    ended: list[str] = []
    started = threading.Barrier(3)

    async def sleep(name: str) -> None:
        try:
            await asyncio.to_thread(started.wait, 10)
            await asyncio.sleep(0.3 if name == "two" else 60)
        finally:
            ended.append(name)

    def asked(background: Background, name: str) -> None:
        try:
            background.run(sleep(name))
            ended.append(f"{name} whole")
        except CancelledError:
            ended.append(f"{name} cancelled")

    threads = [threading.Thread(target=asked, args=pair) for pair in ((one, "one"), (two, "two"))]
    for thread in threads:
        thread.start()
    started.wait(10)
    one.interrupt()
    for thread in threads:
        thread.join(20)
    assert sorted(ended) == ["one", "one cancelled", "two", "two whole"]


def test_a_failure_is_raised_where_the_work_was_asked_for() -> None:
    async def fail() -> None:
        raise KeyError("x")

    background = Background(1.0)
    with pytest.raises(KeyError):
        background.run(fail())
    assert background.run(here()).is_running()


def test_a_forked_process_has_a_loop_of_its_own_and_leaves_its_parents_running() -> None:
    background = Background(1.0)
    loop = background.run(here())

    def child() -> None:
        os._exit(0 if background.run(here()) is not loop else 1)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(20)
    assert process.exitcode == 0
    assert background.run(here()) is loop
