"""Askers share one event loop in a thread; each can be interrupted, and a forked process has its own."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from concurrent.futures import CancelledError

from fake_model import FakeModel, questions, read_label

from lunguage_assets.judges.asker import Asker
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.slots import Limits


def asker(ledger: Ledger, model: FakeModel) -> Asker:
    return Asker("one", model, ledger, Limits(in_flight=4))


def test_interrupting_one_keeps_what_it_was_answered_and_leaves_the_others_alone(ledger: Ledger) -> None:
    slow = FakeModel(latency=0.05)
    one = asker(ledger, slow)
    ended: list[str] = []

    def work() -> None:
        try:
            one.ask(questions(500), read_label)
        except CancelledError:
            ended.append("cancelled")

    thread = threading.Thread(target=work)
    thread.start()
    while slow.calls < 4:
        time.sleep(0.005)
    one.interrupt()
    thread.join(20)
    assert ended == ["cancelled"]
    assert int(ledger.statistics()["valid"].sum()) == slow.calls < 500
    assert len(asker(ledger, FakeModel()).ask(questions(20), read_label)) == 20


def test_a_forked_process_asks_too(ledger: Ledger) -> None:
    one = asker(ledger, FakeModel())
    one.ask(questions(3), read_label)

    def child() -> None:
        os._exit(0 if len(one.ask(questions(6), read_label)) == 6 else 1)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(20)
    assert process.exitcode == 0
    assert len(one.ask(questions(9), read_label)) == 9
    one.close()
