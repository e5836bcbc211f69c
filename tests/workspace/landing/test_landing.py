"""What a landing folder takes, and when: a marker says that a delivery is complete, or
it lay unchanged for long enough.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from landing_drops import DECLARED, Landing, csv, packed, parquet
from raw_deliveries import REPORTS, write_table

from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.errors import LunguageError
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.workspace import landing as module

VOCABULARY = "category,target_term,normed_term\npf,opacity,opacification\n"
STUDIES = {f"s{report.study}" for report in REPORTS}


def registered(landing: Landing, after_s: float = 0.0) -> list[str]:
    before = {batch.key for batch in landing.home.registered()}
    landing.land(after_s=after_s)
    return [batch.key for batch in landing.home.registered() if batch.key not in before]


def studies(landing: Landing, key: str) -> set[str]:
    """Studies of a batch of raw reports."""
    return set(
        receive(landing.home.delivery(key), CorpusSettings()).report_texts["study_id"]
    )


def test_a_delivery_that_grows_waits_anew_until_it_is_old_enough(
    landing: Landing,
) -> None:
    landing.drop("copy.csv", csv(5))
    os.utime(
        landing.root / "copy.csv", (1000, 1000)
    )  # as a copy that keeps an old time
    assert landing.land().of("waiting") == {"copy.csv": "it may still be written to"}
    for count in range(1, 3):
        landing.drop("a.csv", csv(*range(count)))
        assert (
            landing.land(after_s=29.0).of("waiting")["a.csv"]
            == "it may still be written to"
        )
    assert registered(landing, after_s=2.0) == ["a"]
    assert landing.batches["a"] == {"s00000000", "s00000001"}


@pytest.mark.parametrize("marker", ["a.csv.done", "f/.done", "f/_SUCCESS", "f.done"])
def test_a_marker_of_this_delivery_spares_the_wait(
    landing: Landing, marker: str
) -> None:
    delivery = "a.csv" if marker.startswith("a") else "f/Lunguage.csv"
    landing.drop(marker, "")
    landing.now += 100
    landing.drop(delivery, csv(1))
    assert registered(landing) == []
    landing.drop(marker, "")
    assert registered(landing) == [delivery[0]]


def test_a_folder_waits_until_its_findings_are_copied(
    landing: Landing,
) -> None:
    landing.drop("f/Lunguage_vocab.csv", "category,target_term,normed_term\n")
    landing.drop("f/Lunguage.csv.part", csv(1))
    assert landing.settle().of("waiting") == {
        "f": "there is no Lunguage.csv and no raw report in it"
    }
    landing.drop("f/Lunguage.csv", csv(1))
    for growing in (".mimic-cxr-2.0.0-metadata.csv.x7Zq", "files/p10/part"):
        landing.drop(f"f/{growing}", "x")
        assert registered(landing, after_s=29.0) == []
    assert registered(landing, after_s=60.0) == ["f"]


def test_a_delivery_that_changes_while_it_is_read_is_left_for_later(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.drop("a.csv.gz", packed(csv(1))[:-9])
    fetch = module.copy_delivery

    def slow(*arguments: object) -> object:
        try:
            return fetch(*arguments)  # type: ignore[arg-type]
        finally:
            landing.drop("a.csv.gz", packed(csv(1, 2)))

    with monkeypatch.context() as patch:
        patch.setattr(module, "copy_delivery", slow)
        assert landing.settle().of("waiting") == {
            "a.csv.gz": "it changed while it was read"
        }
    landing.settle()
    assert landing.batches == {"a": {"s00000001", "s00000002"}}


@pytest.mark.parametrize("wrong", ["bad.csv", "corpus.toml"])
def test_what_cannot_be_read_at_present_waits(
    landing: Landing, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    opened = os.open

    def refused(path: Path, flags: int, **more: int) -> int:
        if getattr(path, "name", "") == wrong:
            raise PermissionError
        return opened(path, flags, **more)

    landing.drop("good.csv", csv(1))
    landing.drop(wrong, 'data_class = "credentialed"')
    monkeypatch.setattr(module.os, "open", refused)
    waiting = "bad.csv" if wrong == "bad.csv" else "good.csv"
    assert landing.settle().of("waiting") == {
        waiting: "it cannot be read at present (PermissionError)"
    }
    assert ("good" in landing.batches) == (wrong == "bad.csv")


def test_a_missing_folder_the_home_itself_and_a_second_process_are_refused(
    landing: Landing,
) -> None:
    with pytest.raises(LunguageError, match="it is not there or cannot be read"):
        Landing(landing.root / "nowhere", landing.home).land()
    with pytest.raises(LunguageError, match="it is the home itself"):
        Landing(landing.home.root, landing.home).land()
    with (
        module.only_one(landing.home),
        pytest.raises(LunguageError, match="another process"),
    ):
        landing.land()


def test_deliveries_are_read_once_oldest_first_until_the_time_is_over(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate(["c.csv", "a.csv", "b.csv"]):
        landing.drop(name, csv(number))
        os.utime(landing.root / name, (1000 + number, 1000 + number))
    outcome = landing.land(after_s=60.0, seconds=0.0)
    assert (set(outcome.of("waiting").values()), outcome.of("registered")) == (
        {"it is for the next pass"},
        {},
    )
    assert registered(landing) == ["c", "a", "b"]
    monkeypatch.setattr(module, "copy_delivery", lambda *_: pytest.fail("read again"))
    assert len(landing.land(after_s=60.0).of("landed before")) == 3


def test_csv_packed_csv_and_parquet_are_taken_and_named_after_their_file(
    landing: Landing,
) -> None:
    landing.drop("Night 1.csv", csv(1))
    landing.drop("day.CSV.gz", packed(csv(2)))
    landing.drop("week.parquet", parquet(3))
    landing.settle()
    assert landing.batches == {
        "night-1": {"s00000001"},
        "day": {"s00000002"},
        "week": {"s00000003"},
    }
    assert landing.home.corpus() == Corpus("unnamed", "credentialed"), (
        "undeclared text is patient data"
    )
    batch = landing.home.batches / "night-1"
    assert (batch / "Lunguage.csv").read_bytes() == csv(1)
    assert json.loads((batch / "batch.json").read_text())["files"] == ["Lunguage.csv"]


def test_hidden_temporary_and_foreign_names_are_no_deliveries_and_lie_on(
    landing: Landing,
) -> None:
    passed_over = [
        ".hidden.csv",
        "x.csv.part",
        "y.tmp.csv",
        "~z.csv",
        "z.csv~",
        "_temporary.csv",
    ]
    passed_over += ["quarantine/old/a.csv", "old.csv.rejected.csv"]
    for name in [*passed_over, "sheet.xlsx", "mimic-cxr-2.0.0-metadata.csv"]:
        landing.drop(name, csv(1))
    before = landing.files
    outcome = landing.settle()
    assert {name for _, name, _ in outcome.outcomes} == {
        "sheet.xlsx",
        "mimic-cxr-2.0.0-metadata.csv",
    }
    assert outcome.summary == "Landing folder: 2 passed over."
    assert landing.files == before


def test_the_landing_folders_declaration_and_vocabulary_serve_deliveries_that_bring_none(
    landing: Landing,
) -> None:
    landing.home.claim(Corpus("invented", "synthetic"))
    landing.drop("corpus.toml", DECLARED)
    landing.drop("Lunguage_vocab.csv", VOCABULARY)
    landing.drop("bare.csv", csv(1))
    landing.drop("bare.csv.done", "")
    landing.drop("own/Lunguage.csv", csv(2))
    landing.drop(
        "own/Lunguage_vocab.csv", VOCABULARY.replace("opacification", "shadow")
    )
    landing.now += 1.0
    assert (
        landing.land().of("waiting")["bare.csv"]
        == "a file for all deliveries may still be written to"
    )
    landing.settle()
    for key, name in {"bare": "opacification", "own": "shadow"}.items():
        assert take_in(landing.home.delivery(key), CorpusSettings()).findings[
            "name"
        ].tolist() == [name]


def test_too_many_reports_become_several_batches_also_after_a_kill(
    landing: Landing, tmp_path: Path
) -> None:
    landing.home.create()
    landing.home.settings_file.write_text("[corpus]\nbatch_reports = 5\n")
    content = write_table(tmp_path)[0].read_bytes()
    landing.drop("year.csv", content)
    assert (
        landing.settle()
        .of("registered")["year.csv"]
        .startswith("batch year-001, year-002, year-003, ")
    )
    assert [batch.key for batch in landing.home.registered()] == [
        "year-001",
        "year-002",
        "year-003",
    ]
    studies_of_batches = [
        studies(landing, batch.key) for batch in landing.home.registered()
    ]
    assert set().union(*studies_of_batches) == STUDIES
    assert sum(map(len, studies_of_batches)) == len(STUDIES)
    shutil.rmtree(
        landing.home.batches / "year-002"
    )  # as if the pass had been killed before
    landing.settle()
    assert [batch.key for batch in landing.home.registered()] == [
        "year-001",
        "year-003",
        "year-002",
    ]
    landing.drop("copy.csv", content)
    assert landing.settle().of("skipped") == {
        "copy.csv": "same content as batch year-001"
    }
