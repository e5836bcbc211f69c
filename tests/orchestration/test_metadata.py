"""What an asset shows of itself: counts with shares, columns, costs, and no markup of a corpus."""

from __future__ import annotations

import re

from hostile_words import HOSTILE

from lunguage_assets.orchestration.build import asset_jobs
from lunguage_assets.orchestration.metadata import (
    SHOWN,
    as_written,
    asset_options,
    column_schema,
    counts,
    markdown,
)
from lunguage_assets.tables import FINDINGS, HEDGE_PHRASES


def test_columns_tell_report_text_and_codes_in_words_and_no_word_is_lost() -> None:
    shown = {column.name: column.description or "" for column in column_schema(HEDGE_PHRASES).columns}
    assert "[report text]" in shown["sent"]
    assert as_written("every mention as <finding>; 3 < 5") == "every mention as `<finding>`; 3 < 5"
    codes = {column.name: column.description or "" for column in column_schema(FINDINGS).columns}
    assert "dp (certainly present)" in codes["status"]
    assert "OTH (devices and procedures)" in codes["cat"]


def test_whoever_launches_what_asks_judges_reads_what_it_costs_and_how_to_estimate() -> None:
    told = {job.name: job.description or "" for job in asset_jobs()}
    asking = {job for job, text in told.items() if "`lunguage estimate`" in text}
    assert asking == {"structure", "extract_hedges", "compare", "fit", "refit"}
    assert "`lunguage estimate`" in asset_options("hedge_phrases", "explicit")["description"]
    assert "`lunguage estimate`" not in asset_options("findings", "corpus")["description"]


def test_counts_are_a_table_with_shares_of_all() -> None:
    table = str(counts({"kept": 8, "merged": 2, "never": 0}, "disposition").value)
    assert table.splitlines() == [
        "| disposition | rows | share |",
        "|---|---|---|",
        "| kept | 8 | 80.0% |",
        "| merged | 2 | 20.0% |",
    ]
    shown = str(counts({f"{n:02d}": 3 for n in range(30)} | {"often": 10}, "name").value).splitlines()[2:]
    assert (len(shown), shown[1]) == (SHOWN, "| 00 | 3 | 3.0% |"), "of all, also of those not shown"
    assert counts({}, "nothing").value == "none"


def test_no_tag_link_or_picture_of_a_corpus_begins_in_what_the_ui_shows() -> None:
    words = f"{HOSTILE} ![x](http://evil.example/) `a` b|c"
    for shown in (
        counts({words: 1}, "word"),
        markdown(["word"], [[words]]),
    ):
        last = str(shown.value).splitlines()[-1]
        assert not re.search(r"(?<!\\)[<\[`]", last), last
        assert "\\<script>" in last
