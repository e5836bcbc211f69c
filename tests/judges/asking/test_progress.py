"""Counts, rate and time left of the asking, for people."""

from __future__ import annotations

import pytest

from lunguage_assets.judges.asking.progress import Meter, Progress, announce, listening, spell


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def report(
    round_: int,
    settled: int,
    *,
    judge: str = "gpt",
    questions: int = 100,
    hits: int = 0,
    calls: int | None = None,
) -> Progress:
    asked = settled - hits if calls is None else calls
    return Progress(
        judge, "compare", round_, questions, hits, settled, asked, 0, 500 * asked, 5 * asked, 0.001 * asked
    )


def test_a_later_report_of_a_round_replaces_the_earlier_and_rounds_add_up() -> None:
    meter = Meter(Clock())
    for settled in (0, 40, 100):
        meter.note(report(1, settled))
    meter.note(report(2, 10, hits=10))
    meter.note(report(2, 30, hits=10))
    (standing,) = meter.totals()
    assert (standing.questions, standing.settled, standing.hits, standing.calls) == (
        200,
        130,
        10,
        120,
    )
    assert standing.input_tokens == 60_000
    assert standing.cost_usd == pytest.approx(0.12)


def test_rate_and_time_left_count_asked_answers_not_those_from_the_ledger() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.note(report(1, 50, hits=50))
    clock.now = 10.0
    meter.note(report(1, 60, hits=50))
    (standing,) = meter.totals()
    assert standing.rate == pytest.approx(1.0)
    assert standing.left_s == pytest.approx(40.0)


def test_the_rate_is_that_of_the_last_minute() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.note(report(1, 0, questions=1000))
    for second in range(1, 301):
        clock.now = float(second)
        meter.note(report(1, min(second, 200) if second <= 200 else 200 + 5 * (second - 200), questions=1000))
    assert meter.totals()[0].rate == pytest.approx(5.0, rel=0.05)


def test_listeners_hear_every_report_and_only_while_they_listen() -> None:
    heard: list[Progress] = []
    with listening(heard.append):
        announce(report(1, 1))
    announce(report(1, 2))
    assert [progress.settled for progress in heard] == [1]


@pytest.mark.parametrize(
    ("seconds", "words"), [(None, ""), (4.2, "4 s"), (95, "95 s"), (720, "12 min"), (12_000, "3 h 20 min")]
)
def test_durations_are_spelled_as_people_say_them(seconds: float | None, words: str) -> None:
    assert spell(seconds) == words


def test_the_display_has_a_line_per_judge_with_answers_calls_tokens_and_dollars() -> None:
    meter = Meter(Clock())
    meter.note(report(1, 60, hits=10))
    meter.note(report(2, 5, judge="claude"))
    gpt, claude = (total.line() for total in meter.totals())
    assert gpt.startswith("judge gpt: 60 of 100 answered, 10 of them from the ledger; 50 calls (0 failed)")
    assert "$0.0500" in gpt
    assert claude.startswith("judge claude: 5 of 100")
