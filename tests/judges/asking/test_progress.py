"""Counts, rate and time left of the asking, for people."""

from __future__ import annotations

from lunguage_assets.judges.asking.progress import (
    Fitting,
    Meter,
    Progress,
    Report,
    announce,
    listening,
)


def test_reports_add_up_and_the_rate_leaves_out_the_ledgers_answers() -> None:
    clock = [0.0]
    meter = Meter(lambda: clock[0])
    meter.note(Progress("gpt", questions=100, hits=50, settled=50))
    meter.note(Progress("claude", questions=100))
    clock[0] = 10.0
    for _ in range(10):
        meter.note(Progress("gpt", 0, 0, 1, 1, 0, 500, 5, 0.001))
    gpt, claude = (total.line() for total in meter.totals())
    assert gpt == (
        "judge gpt: 60 of 100 answered, 50 of them from the ledger; 10 calls (0 answers invalid, 0 "
        "tried again, 0 failed), 5,000 + 50 tokens, $0.0100, 1.0/s, about 1 min left"
    )
    assert claude.startswith("judge claude: 0 of 100")


def test_listeners_hear_every_report_and_only_while_they_listen() -> None:
    heard: list[Report] = []
    with listening(heard.append):
        announce(Progress("gpt", 1))
    announce(Progress("gpt", 2))
    assert [progress.questions for progress in heard] == [1]


def test_no_time_is_promised_where_more_questions_follow_round_by_round() -> None:
    clock = [0.0]
    meter = Meter(lambda: clock[0])
    for _ in range(3):
        meter.note(Progress("gpt", questions=100))
        clock[0] += 10.0
        meter.note(Progress("gpt", 0, 0, 90, 90))
    (total,) = meter.totals()
    assert "min left" not in total.line()


def test_a_fit_says_how_many_sentences_are_open() -> None:
    heard: list[Report] = []
    with listening(heard.append):
        announce(Fitting(312, 1167, 14))
    assert [report.line() for report in heard] == [
        "312 of 1,167 sentences are still being fitted, after 14 comparisons each"
    ]
