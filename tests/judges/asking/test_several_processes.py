"""Several processes that share a ledger: nothing is asked twice, no ceiling and no
limit is passed by all together, and what a killed one had claimed is asked by another.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forked import Forked
from loopback import LoopbackServer
from sdk_run import PRICE, pairs, started

from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.rules.cues import CuesJudge

COUNT = 60


def each(server: LoopbackServer) -> Counter[str]:
    """How often the server saw each question."""
    return Counter(call.prompt for call in server.calls)


def said(processes: Sequence[Forked]) -> list[dict[str, Any]]:
    return [process.told() for process in processes]


def until_seen(server: LoopbackServer, calls: int) -> None:
    deadline = time.monotonic() + 60
    while len(server.calls) < calls:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def clean(count: int) -> list[str]:
    return CuesJudge.bundled("loopback").compare(pairs(count))


def test_two_processes_with_one_ledger_ask_every_question_once(
    ledger_location: str,
) -> None:
    with LoopbackServer(latency=0.01) as server:
        first, second = said(
            [started(ledger_location, server.url, count=COUNT) for _ in range(2)]
        )
        assert first["answers"] == second["answers"] == clean(COUNT)
        assert set(each(server).values()) == {1}
        assert (
            len(server.calls)
            == COUNT
            == int(Ledger.open(ledger_location).statistics()["attempts"].sum())
        )


def test_two_processes_together_do_not_pass_the_daily_budget(
    ledger_location: str,
) -> None:
    daily = 0.01
    with LoopbackServer(latency=0.02) as server:
        results = said(
            [
                started(
                    ledger_location,
                    server.url,
                    count=COUNT,
                    start=number * COUNT,
                    daily=daily,
                )
                for number in range(2)
            ]
        )
        assert all("daily budget of $0.01" in result["error"] for result in results)
        spent = float(Ledger.open(ledger_location).statistics()["cost_usd"].sum())
        assert len(server.calls) == int(
            Ledger.open(ledger_location).statistics()["attempts"].sum()
        )
        worst = PRICE.cost(700, 100)
        assert daily - 2 * worst < spent <= daily


def test_two_processes_together_do_not_send_more_than_the_judges_rate(
    tmp_path: Path,
) -> None:
    with LoopbackServer() as server:
        limits = {"requests_per_minute": 30, "deadline_s": 2}
        processes = [
            started(
                str(tmp_path / "ledger.sqlite"),
                server.url,
                count=60,
                start=number * 60,
                **limits,
            )
            for number in range(2)
        ]
        assert all("deadline of 2 s" in result["error"] for result in said(processes))
        assert 0 < len(server.calls) <= 30


def test_what_a_killed_process_had_claimed_is_asked_by_another(
    ledger_location: str,
) -> None:
    with LoopbackServer(latency=0.3) as server:
        killed = started(ledger_location, server.url, count=60)
        until_seen(server, 20)
        killed.signal(signal.SIGKILL)
        ledger = Ledger.open(ledger_location)
        second_result = started(ledger_location, server.url, count=60).told()
        assert second_result["answers"] == clean(60)
        row = ledger.statistics().iloc[0]
        twice = sum(count - 1 for count in each(server).values())
        assert 0 < twice <= row["lost"] <= 16
        assert (row["valid"], row["attempts"], ledger.in_flight()) == (
            60,
            60 + row["lost"],
            0,
        )
        assert row["unpriced"] == row["lost"]


def test_who_waits_for_a_sleeping_process_asks_nothing_twice(
    ledger_location: str,
) -> None:
    with LoopbackServer(latency=0.5) as server:
        asleep = started(ledger_location, server.url, count=30)
        until_seen(server, 16)
        # only one writes at a time: nobody is stopped in the middle of it
        Ledger.open(ledger_location).transaction(
            lambda _: asleep.signal(signal.SIGSTOP)
        )
        try:
            hurried = started(
                ledger_location, server.url, count=30, deadline_s=1
            ).told()
            patient = started(ledger_location, server.url, count=30)
        finally:
            asleep.signal(signal.SIGCONT)
        assert "another process is asking this model" in hurried["error"]
        assert patient.told()["answers"] == asleep.told()["answers"] == clean(30)
        row = Ledger.open(ledger_location).statistics().iloc[0]
        assert (row["attempts"], row["lost"]) == (len(server.calls), 0) == (30, 0)
