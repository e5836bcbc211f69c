"""`lunguage explain`: the story of every row of a study, of removed rows too, for the person who asks and
nobody else.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from generated_reports import reports as reported
from hypothesis import given
from invented_reports import STUDY, Said, frames, identity, run, said
from profiles import examples
from rich.console import Console

from lunguage_assets.cli.reading import TextKeptBack, explain
from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.home.home import Corpus, DataClass, Home
from lunguage_assets.home.store import PARTITIONED_BY, partition_path, write_table
from lunguage_assets.release.explain.explain import StudyStory, explain_study, print_story
from lunguage_assets.release.explain.study_record import TABLES_OF_A_STUDY, StudyRecord, read_study
from lunguage_assets.release.explain.wording import NO_PATHWAY, P_SOURCES, RULES, STATUSES
from lunguage_assets.tables import (
    FINDINGS,
    INTAKE_NOTES,
    MATCH_REASONS,
    REFERENCE_RANKING,
    REJECTED,
    RESOLUTION_LOG,
    SET_ASIDE,
    TERMS,
)
from lunguage_assets.tables import (
    P_SOURCES as P_SOURCE_CODES,
)
from lunguage_assets.tables import (
    STATUSES as STATUS_CODES,
)
from lunguage_assets.tables.schema import Table

SECRET = "The invented sentence that nobody else may read."

RANKING = {column.name: None for column in REFERENCE_RANKING.columns if column.nullable} | {
    "phrase": "may", "rank": 0, "mu": 23.6, "sigma": 0.9, "mu_sd": 0.0, "mu_low": 23.6, "mu_high": 23.6,
    "rank_low": 0.0, "rank_high": 0.0, "n_matches": 0, "judges": ["lexicon", "cues"], "ruler": "published",
    "ruler_reason": "",
    "vocabulary_version": "v", "ranking_version": "v1", "reading_sd": 3.0,
}  # fmt: skip

REFUSED = {
    "file": "Lunguage.csv", "line": 7, "study_id": STUDY, "column": "dx_status", "found": "maybe",
    "expected": "positive or negative", "remedy": "Mend the cell.",
    "reason": "unknown status", "content": "{}",
}  # fmt: skip


def tables_of(rows: Sequence[Said], rejected: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """The tables that a run stores, by name; every sentence is the invented secret one."""
    outcome = run(rows)
    findings, fitted, delivered = frames(rows)
    made = {
        "reports": delivered,
        "findings": findings,
        "terms": TERMS.frame(),
        "rejected": REJECTED.frame(list(rejected)),
        "intake_notes": INTAKE_NOTES.frame(),
        "fitted_probabilities": fitted,
        "deduplicated_findings": outcome.deduplicated,
        "pathway_matches": outcome.expansion.matches,
        "expansions": outcome.expansion.expansions,
        "conflicts": outcome.resolution.conflicts,
        "resolution_log": outcome.resolution.log,
        "lunguage_plus_plus": outcome.rows,
        "accounting": outcome.accounting,
        "set_aside": SET_ASIDE.frame(),
    }
    for name in ("findings", "deduplicated_findings", "lunguage_plus_plus"):
        made[name]["sent"] = made[name]["sent"].replace("invented", SECRET)
    return made


def store(home: Home, batch: str, tables: dict[str, Any], *, register: bool = True) -> None:
    """Put the tables of a batch where a run of ranker `panel` puts them."""
    schemas: dict[str, Table] = {**TABLES_OF_A_STUDY, FINDINGS.name: FINDINGS, TERMS.name: TERMS}
    for name, frame in tables.items():
        keys = ("panel" if dimension == "ranker" else batch for dimension in PARTITIONED_BY[name])
        write_table(schemas[name], frame, partition_path(home.tables, name, *keys))
    write_table(
        REFERENCE_RANKING,
        REFERENCE_RANKING.frame([RANKING]),
        partition_path(home.tables, "reference_ranking", "panel"),
    )
    if register:
        announce(home, batch)


def announce(home: Home, batch: str) -> None:
    """Register a batch as `Home.register` does, without files."""
    folder = home.batches / batch
    folder.mkdir(parents=True)
    values = {"key": batch, "number": len(home.registered()), "sha256": batch, "files": []}
    (folder / "batch.json").write_text(json.dumps(values))


def home_of(root: Path, data_class: DataClass, **batches: Sequence[Said]) -> Home:
    home = Home(root / "home")
    home.claim(Corpus("test", data_class))
    for batch, rows in batches.items():
        store(home, batch, tables_of(rows))
    return home


def record_of(
    rows: Sequence[Said], study: str = STUDY, rejected: Sequence[dict[str, Any]] = ()
) -> StudyRecord:
    """As read from a store, without one."""
    return record_in(tables_of(rows, rejected), study)


def record_in(tables: dict[str, Any], study: str) -> StudyRecord:
    found = {
        name: [row for row in schema.to_arrow(tables[name]).to_pylist() if row["study_id"] == study]
        for name, schema in TABLES_OF_A_STUDY.items()
    }
    return StudyRecord(study, "panel", "b", (), (), RANKING, found)


def story(rows: Sequence[Said], finding: str | None = None, **options: Any) -> StudyStory:
    return explain_study(record_of(rows, **options), finding)


def told(told_story: StudyStory, own: str) -> dict[str, str]:
    """The passages of one row, by heading."""
    row = next(row for row in told_story.rows if row.finding_id == own)
    return {passage.heading: "\n".join(passage.lines) for passage in row.passages}


def text(told_story: StudyStory) -> str:
    console = Console(width=400, record=True, file=io.StringIO(), force_terminal=False)
    print_story(told_story, console)
    return console.export_text()


# what is explained


@examples(15)
@given(reported)
def test_every_row_of_a_study_is_explained_once_with_its_fate(rows: list[Said]) -> None:
    tables = tables_of(rows)
    result = set(tables["lunguage_plus_plus"]["finding_id"])
    for study in sorted({row.study for row in rows}):
        record = record_in(tables, study)
        found = explain_study(record)
        fates = {row.finding_id: row.fate for row in found.rows}
        assert len(fates) == len(found.rows)
        everything = {
            row["finding_id"]
            for name in ("deduplicated_findings", "expansions")
            for row in record.tables[name]
        }
        assert set(fates) == everything
        assert {own for own, fate in fates.items() if fate == "in the result"} == {
            own for own in result if own.startswith(f"{study}:")
        }
        gone = {
            row["finding_id"]: row["event"]
            for row in record.tables["resolution_log"]
            if row["event"] != "reference lost"
        }
        assert {own: fate for own, fate in fates.items() if fate != "in the result"} == gone
        assert [row.idx for row in found.rows if row.idx is not None] == list(
            range(1, len(fates) - len(gone) + 1)
        )
        assert text(found)


def test_a_tentative_diagnosis_is_explained_from_its_sentence_to_its_signs() -> None:
    rows = [said("CHF", "tp", p=0.6, view="pa"), said("cardiomegaly", "dp")]
    found = told(story(rows), identity(0))
    assert SECRET in found["said"]
    assert found["said"].startswith("findings, sentence 0")
    assert "canonical name: congestive heart failure" in found["said"]
    assert "no hedging phrase" in found["hedges"]
    assert (
        "mu 25.00, sigma 1.00, below 1 phrases; 20 steps, 20 valid answers; ended because its "
        "rank stayed the same" in found["hedges"]
    )
    assert "0.600 [0.300, 0.800]: fitted into the ranking" in found["probability"]
    assert "congestive heart failure matches congestive_heart_failure_1" in found["pathway"]
    assert "ent: cardiomegaly > status: dp" in found["pathway"]
    assert "already stated by idx 2 (cardiomegaly, dp)" in found["implies"]
    assert "(pulmonary edema, tp)" in found["implies"]
    assert "of different certainty" in told(story(rows), identity(0) + "/0")["conflicts"]


def test_a_generated_row_is_explained_up_to_its_root() -> None:
    found = told(story([said("lobar pneumonia", "dp")]), identity(0) + "/0/0")
    assert (
        "not in the report: idx 2 (consolidation, dp) implies it by pathway consolidation_1, "
        "below idx 1 (lobar pneumonia, dp)" in found["said"]
    )
    assert "a bound that follows from the pathway" in found["probability"]
    assert "hedges" not in found


def test_both_rows_of_a_merge_name_each_other() -> None:
    rows = [said("nodule", location="right"), said("nodules", location="right", section="impr")]
    assert (
        "0 (nodule, right, dp; merged): cosine 1.000 (lexical-1)"
        in told(story(rows), identity(1))["merged into it"]
    )
    assert (
        told(story(rows), identity(0))["what became of it"]
        == "merged: it says the same (deduplication). idx 1 (nodules, right, dp) stands for it."
    )


def test_a_contradiction_is_explained_by_its_rule() -> None:
    rows = [said("pneumonia", "dn"), said("pneumonia", "tp", p=0.2)]
    found = story(rows)
    loser = told(found, identity(1))
    assert (
        "one says present, one absent (original-original): with idx 1 (pneumonia, dn)" in loser["conflicts"]
    )
    assert (
        loser["what became of it"]
        == "removed: rule 3: the row with the highest support is kept. No row stands for it."
    )
    assert (
        "discarded: the diagnosis that implied it is gone"
        in told(found, identity(1) + "/0")["what became of it"]
    )


def test_one_row_is_chosen_by_number_or_by_id_also_one_outside_the_result() -> None:
    rows = [said("nodule"), said("pneumonia"), said("pneumonia", location="right", section="hist")]
    assert [row.finding_id for row in story(rows, "2").rows] == [identity(1)]
    assert [row.fate for row in story(rows, identity(2)).rows] == ["excluded"]
    with pytest.raises(ConfigurationError, match="numbered 1 to 3"):
        story(rows, "9")


def test_history_rows_and_rejected_rows_are_explained_too() -> None:
    found = story([said("pneumonia", section="hist")], rejected=[REFUSED])
    assert [row.fate for row in found.rows] == ["excluded", "rejected"]
    assert told(found, identity(0))["what became of it"] == "excluded: history rows take no part."
    assert (
        "column 'dx_status': found 'maybe', expected positive or negative"
        in told(found, "Lunguage.csv, row 7")["unknown status"]
    )


@pytest.mark.parametrize(
    ("row", "because"),
    [
        (said("nodule"), "it is no diagnosis"),
        (said("pneumonia", "dn"), "it is denied"),
        (said("fracture", location="pacemaker lead"), "about a device"),
        (said("pleural effusion", view=""), "the views of the study are not known"),
        (said("cardiomegaly", view="lateral"), "no pathway covers the views"),
        (said("pneumonia", "tp", p=None), "nothing is known of its certainty"),
        (said("pneumonia", past_hx="prior"), "it is past"),
    ],
)
def test_a_row_that_does_not_expand_says_why(row: Said, because: str) -> None:
    assert because in told(story([row]), identity(0))["pathway"]


def test_references_are_numbers_and_lost_ones_have_a_reason() -> None:
    rows = [
        said("opacity", evidence=[1, "~haze"]),
        said("nodule", "tp", p=0.6),
        said("blunting", associate=[3]),
        said("mass", "dp"),
        said("mass", "dn"),
    ]
    found = story(rows)
    assert told(found, identity(0))["refers to"] == "evidence: idx 2 (nodule, tp), haze"
    assert "lost: " in told(found, identity(2))["refers to"]
    assert "(mass, dp; removed); the row that it refers to is gone" in told(found, identity(2))["refers to"]


def test_every_code_of_the_tables_has_its_words() -> None:
    assert set(NO_PATHWAY) == set(MATCH_REASONS) - {"matched"}
    assert set(RULES) == set(RESOLUTION_LOG.column("rule").choices)
    assert set(P_SOURCES) == {*P_SOURCE_CODES, "pathway"}
    assert set(STATUSES) == set(STATUS_CODES)


# how it is shown


def test_text_of_a_report_cannot_command_a_terminal() -> None:
    hostile = "a\x1b[2Jb [red]c[/red]\r\n"
    record = record_of([said("nodule")])
    for name in ("deduplicated_findings", "lunguage_plus_plus"):
        record.tables[name][0].update(sent=hostile, ent=hostile)  # type: ignore[attr-defined]
    shown = text(explain_study(record))
    assert "\x1b[2J" not in shown
    assert "[red]c[/red]" in shown


# finding the study


def test_a_study_delivered_again_is_explained_as_delivered_last(tmp_path: Path) -> None:
    home = home_of(tmp_path, "synthetic", old=[said("nodule")], new=[said("mass")])
    record = read_study(home.tables, "panel", ["old", "new"], STUDY.removeprefix("s"))
    found = explain_study(record)
    assert [row.title.split(":")[0] for row in found.rows] == ["mass"]
    assert "amended: also delivered in old; the newest version counts" in text(found)
    announce(home, "newest")  # registered, and not run yet
    again = explain_study(read_study(home.tables, "panel", ["old", "new", "newest"], STUDY))
    assert "batches without a result for this ranker: newest" in text(again)


def test_a_study_or_ranker_that_is_not_there_is_answered_with_what_is(tmp_path: Path) -> None:
    home = home_of(tmp_path, "synthetic", first=[said("nodule"), said("mass", study="s00000002")])
    record = read_study(home.tables, "panel", ["first"], STUDY)
    assert {row["study_id"] for rows in record.tables.values() for row in rows} == {STUDY}
    with pytest.raises(ConfigurationError, match=r"'s00000013'\. Batches of ranker 'panel': first\."):
        read_study(home.tables, "panel", ["first"], "s00000013")
    with pytest.raises(ConfigurationError, match="ranker 'oracle' has no result"):
        read_study(home.tables, "oracle", ["first"], STUDY)


# the command


def call(home: Home, *arguments: str | Path) -> Result:
    return CliRunner().invoke(explain, [STUDY, "--home", str(home.root), *map(str, arguments)])


def test_text_of_patients_goes_into_no_pipe_and_undeclared_text_counts_as_theirs(tmp_path: Path) -> None:
    home = home_of(tmp_path, "synthetic", b=[said("nodule")])
    assert SECRET in " ".join(call(home).output.split())
    (home.root / "corpus.json").unlink()
    for arguments in ((), ("--finding", "1")):
        done = call(home, *arguments)
        assert isinstance(done.exception, TextKeptBack)
        assert SECRET not in done.output + str(done.exception)


def test_text_of_patients_is_shown_on_the_terminal_of_the_person_who_asks(tmp_path: Path) -> None:
    home = home_of(tmp_path, "credentialed", b=[said("nodule")])
    process, terminal = pty.fork()
    if process == 0:  # the command, on a terminal of its own
        os.environ["COLUMNS"] = "200"
        sys.stdout = sys.stderr = os.fdopen(1, "w", closefd=False)
        try:
            explain.main([STUDY, "--home", str(home.root)], standalone_mode=False)
            sys.stdout.flush()
            os._exit(0)
        finally:
            os._exit(1)
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while part := os.read(terminal, 65536):
            shown += part
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert SECRET in shown.decode()


def test_no_error_carries_text_of_the_report(tmp_path: Path) -> None:
    home = home_of(tmp_path, "synthetic", b=[said("nodule")])
    for arguments in (["s12345678"], [STUDY, "--finding", "99"], [STUDY, "--ranker", "oracle"]):
        done = CliRunner().invoke(explain, [*arguments, "--home", str(home.root)])
        assert isinstance(done.exception, LunguageError)
        assert SECRET not in str(done.exception)
