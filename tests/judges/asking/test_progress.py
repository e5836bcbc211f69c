"""Counts, rate and time left of the asking, for people."""

from __future__ import annotations

import pytest

from lunguage_assets.judges.asking.progress import Meter, Progress, announce, listening


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def report(round_: int, settled: int, *, judge: str = "gpt", hits: int = 0) -> Progress:
    asked = settled - hits
    tokens_and_dollars = 500 * asked, 5 * asked, 0.001 * asked
    return Progress(judge, "compare", round_, 100, hits, settled, asked, 0, *tokens_and_dollars)


def test_a_later_report_of_a_round_replaces_the_earlier_and_rounds_and_judges_add_up() -> None:
    meter = Meter(Clock())
    for settled in (0, 40, 100):
        meter.note(report(1, settled))
    meter.note(report(2, 30, hits=10))
    meter.note(report(3, 5, judge="claude"))
    gpt, claude = (total.line() for total in meter.totals())
    assert gpt.startswith(
        "judge gpt: 130 of 200 answered, 10 of them from the ledger; 120 calls (0 failed), "
        "60,000 + 600 tokens, $0.1200"
    )
    assert claude.startswith("judge claude: 5 of 100")


def test_rate_and_time_left_count_asked_answers_not_those_from_the_ledger() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.note(report(1, 50, hits=50))
    clock.now = 10.0
    meter.note(report(1, 60, hits=50))
    (standing,) = meter.totals()
    assert standing.rate == pytest.approx(1.0)
    assert standing.left_s == pytest.approx(40.0)
    assert standing.line().endswith("1.0/s, about 1 min left")


def test_listeners_hear_every_report_and_only_while_they_listen() -> None:
    heard: list[Progress] = []
    with listening(heard.append):
        announce(report(1, 1))
    announce(report(1, 2))
    assert [progress.settled for progress in heard] == [1]
