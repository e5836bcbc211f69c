"""`lunguage explain`: why every row of a study is as it is, removed rows too.

Text of patients is shown to the person who asks, and to nobody else.
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
from invented_reports import STUDY, StatedFinding, frames, identity, run, stated
from profiles import examples
from rich.console import Console
from stored_tables import store_table

from lunguage_assets.assertion.categories import CATEGORIES
from lunguage_assets.assertion.cues import bundled_cues
from lunguage_assets.assertion.hedges import hedge_cues
from lunguage_assets.cli.explain import TextKeptBack, explain
from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.release.code_words import (
    CUE_WORDS,
    NO_PATHWAY_WORDS,
    P_SOURCE_WORDS,
    RULE_WORDS,
)
from lunguage_assets.release.explain import StudyExplanation, explain_study
from lunguage_assets.release.print_explanation import print_explanation
from lunguage_assets.release.row_words import status_of
from lunguage_assets.release.study_record import (
    TABLES_OF_A_STUDY,
    StudyRecord,
    read_study,
)
from lunguage_assets.settings import DataClass
from lunguage_assets.structuring.rows import structured_tables
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.structuring.text.report import cut_report
from lunguage_assets.tables import INTAKE_NOTES, REJECTED, SET_ASIDE, TABLES
from lunguage_assets.tables.columns import MATCH_REASONS, P_SOURCES
from lunguage_assets.tables.implicit import RESOLUTION_LOG
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path

SECRET = "The invented sentence that nobody else may read."

REFUSED = {
    "file": "Lunguage.csv", "line": 7, "study_id": STUDY, "column": "dx_status", "found": "maybe",
    "expected": "positive or negative", "remedy": "Mend the cell.",
    "reason": "unknown status", "content": "{}",
}  # fmt: skip


def tables_of(
    rows: Sequence[StatedFinding], rejected: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """The tables that a run stores, by name; every sentence is the invented
    secret one.
    """
    outcome = run(rows)
    _, fitted, delivered = frames(rows)
    tables = {
        "reports": delivered,
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
    for name in ("deduplicated_findings", "lunguage_plus_plus"):
        tables[name]["sent"] = tables[name]["sent"].replace("invented", SECRET)
    return tables


def store(home: Home, batch: str, tables: dict[str, Any]) -> None:
    """Put the tables of a batch where a run of ranker `panel` puts them."""
    for name, frame in tables.items():
        keys = (
            "panel" if dimension == "ranker" else batch
            for dimension in TABLES[name].partitioned_by
        )
        store_table(
            TABLES_OF_A_STUDY[name], frame, partition_path(home.tables, name, *keys)
        )
    announce(home, batch)


def announce(home: Home, batch: str) -> None:
    """Register a batch as `Home.register` does, without files."""
    folder = home.batches / batch
    folder.mkdir(parents=True)
    values = {
        "key": batch,
        "number": len(home.registered()),
        "sha256": batch,
        "files": [],
    }
    (folder / "batch.json").write_text(json.dumps(values))


def home_of(
    root: Path, data_class: DataClass, **batches: Sequence[StatedFinding]
) -> Home:
    home = Home(root / "home")
    home.claim(Corpus("test", data_class))
    for batch, rows in batches.items():
        store(home, batch, tables_of(rows))
    return home


def record_in(tables: dict[str, Any], study: str = STUDY) -> StudyRecord:
    """As read from a store, without one."""
    rows_by_table = {}
    for name, schema in TABLES_OF_A_STUDY.items():
        rows = schema.to_arrow(tables[name]).to_pylist()
        rows_by_table[name] = [row for row in rows if row["study_id"] == study]
    return StudyRecord(study, "panel", "b", (), (), rows_by_table)


def explained(
    rows: Sequence[StatedFinding], finding: str | None = None, **options: Any
) -> StudyExplanation:
    return explain_study(record_in(tables_of(rows, **options)), finding)


def passages(explanation: StudyExplanation, finding: str) -> dict[str, str]:
    """The passages of one row, by heading."""
    row = next(row for row in explanation.rows if row.finding_id == finding)
    return {heading: "\n".join(lines) for heading, lines in row.passages.items()}


def text(explanation: StudyExplanation) -> str:
    console = Console(width=400, record=True, file=io.StringIO(), force_terminal=False)
    print_explanation(explanation, console)
    return console.export_text()


def ids_of(rows: Sequence[dict[str, Any]]) -> set[str]:
    return {row["finding_id"] for row in rows}


@examples(15)
@given(reported)
def test_every_row_of_a_study_is_explained_once_with_its_fate(
    rows: list[StatedFinding],
) -> None:
    tables = tables_of(rows)
    for study in sorted({row.study for row in rows}):
        record = record_in(tables, study)
        explanation = explain_study(record)
        fates = {row.finding_id: row.fate for row in explanation.rows}
        assert len(fates) == len(explanation.rows)
        stored = {name: ids_of(record.tables[name]) for name in IDENTIFIED}
        assert set(fates) == stored["deduplicated_findings"] | stored["expansions"]
        result = stored["lunguage_plus_plus"]
        ids_in_result = {
            finding_id for finding_id, fate in fates.items() if fate == "in the result"
        }
        assert ids_in_result == result
        log = [
            row
            for row in record.tables["resolution_log"]
            if row["event"] != "reference lost"
        ]
        event_by_id = {row["finding_id"]: row["event"] for row in log}
        fate_by_id = {
            finding_id: fate
            for finding_id, fate in fates.items()
            if finding_id not in result
        }
        assert fate_by_id == event_by_id
        assert [row.idx for row in explanation.rows if row.idx is not None] == list(
            range(1, len(result) + 1)
        )
        assert text(explanation)


IDENTIFIED = ("deduplicated_findings", "expansions", "lunguage_plus_plus")
HEART = [stated("CHF", "tp", p=0.6, view="pa"), stated("cardiomegaly", "dp")]
TWICE = [
    stated("nodule", location="right"),
    stated("nodules", location="right", section="impr"),
]
BOTH = [stated("pneumonia", "dn"), stated("pneumonia", "tp", p=0.2)]
LOBAR = [stated("lobar pneumonia", "dp")]
REFERRING = [stated("opacity", evidence=[1, "~haze"]), stated("nodule", "tp", p=0.6),
             stated("blunting", associate=[3]), stated("mass", "dp"), stated("mass", "dn")]  # fmt: skip
ROW = identity(0)
SIGN = identity(0) + "/0"

REASONS = [
    (HEART, ROW, "said", "findings, sentence 0"),
    (HEART, ROW, "said", SECRET),
    (HEART, ROW, "said", "canonical name: congestive heart failure"),
    (HEART, ROW, "hedges", "no hedging phrase"),
    (HEART, ROW, "hedges", "mu 25.00, sigma 1.00, below 1 phrases; 20 steps, 20 valid answers; ended because "
     "its rank stayed the same"),
    (HEART, ROW, "probability", "0.600 [0.300, 0.800]: fitted into the ranking"),
    (HEART, ROW, "pathway", "congestive heart failure matches congestive_heart_failure_1"),
    (HEART, ROW, "pathway", "ent: cardiomegaly > status: dp"),
    (HEART, ROW, "implies", "already stated by idx 2 (cardiomegaly, dp)"),
    (HEART, ROW, "implies", "(pulmonary edema, tp)"),
    (HEART, SIGN, "conflicts", "of different certainty"),
    (LOBAR, f"{SIGN}/0", "said", "not in the report: idx 2 (consolidation, dp) implies it by pathway "
     "consolidation_1, below idx 1 (lobar pneumonia, dp)"),
    (LOBAR, f"{SIGN}/0", "probability", "a bound that follows from the pathway"),
    (TWICE, identity(1), "merged into it", "0 (nodule, right, dp; merged): cosine 1.000 (lexical-1)"),
    (TWICE, ROW, "what became of it", "merged: it says the same (deduplication). idx 1 (nodules, right, dp) "
     "stands for it."),
    (BOTH, identity(1), "conflicts", "one says present, one absent (original-original): with idx 1 "
     "(pneumonia, dn)"),
    (BOTH, identity(1), "what became of it", "removed: rule 3: the row with the highest support is kept. No "
     "row stands for it."),
    (BOTH, f"{identity(1)}/0", "what became of it", "discarded: the diagnosis that implied it is gone"),
    (REFERRING, ROW, "refers to", "evidence: idx 2 (nodule, tp), haze"),
    (REFERRING, identity(2), "refers to", "(mass, dp; removed); the row that it refers to is gone"),
    ([stated("nodule")], ROW, "pathway", "it is no diagnosis"),
    ([stated("pneumonia", "dn")], ROW, "pathway", "it is denied"),
    ([stated("fracture", location="pacemaker lead")], ROW, "pathway", "about a device"),
    ([stated("pleural effusion", view="")], ROW, "pathway", "the views of the study are not known"),
    ([stated("cardiomegaly", view="lateral")], ROW, "pathway", "no pathway covers the views"),
    ([stated("pneumonia", "tp", p=None)], ROW, "pathway", "nothing is known of its certainty"),
    ([stated("pneumonia", past_hx="prior")], ROW, "pathway", "it is past"),
    ([stated("pneumonia", section="hist")], ROW, "what became of it", "excluded: history rows take no part."),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "finding_id", "heading", "words"), REASONS)
def test_a_row_is_explained(
    rows: list[StatedFinding], finding_id: str, heading: str, words: str
) -> None:
    assert words in passages(explained(rows), finding_id)[heading]


READ = (
    "No evidence of pneumothorax. Pneumonia cannot be excluded. "
    "The effusion has resolved. The heart is not normal. Nodule."
)
DECIDED = {
    "pneumothorax": 'absent: by "No evidence of" (negated.no_evidence)',
    "pneumonia": 'left open: by "cannot be excluded" (hedged.cannot_be_excluded)',
    "effusion": 'ended: by "resolved" (ended.resolved)',
    "heart": 'abnormal: by "not" (negated.not)',
    "nodule": "",
}


@pytest.mark.parametrize(("finding", "line"), DECIDED.items())
def test_a_row_names_the_words_that_decided_it(finding: str, line: str) -> None:
    report = cut_report("s1", READ)
    findings = structured_tables(
        [report], RuleStructurer().structure([report])
    ).structured_findings
    row = findings[findings["normed_ent"].str.contains(finding)].iloc[0]
    tables = tables_of([stated(finding, row["status"])])
    tables["reports"]["report"] = READ
    for name in ("deduplicated_findings", "lunguage_plus_plus"):
        tables[name]["cues"] = row["cues"]
    assert passages(explain_study(record_in(tables)), ROW)["decided"] == line


def test_every_kind_of_cue_that_decides_a_row_has_its_words() -> None:
    deciding = {
        name for name, rule in CATEGORIES.items() if rule.makes not in ("", "aside")
    }
    assert deciding <= set(CUE_WORDS)
    ids = [
        cue.id for cue in (*bundled_cues(), *hedge_cues()) if cue.category in deciding
    ]
    assert {cue_id.partition(".")[0] for cue_id in ids} <= set(CUE_WORDS)


def test_the_words_of_a_cue_cannot_command_a_terminal() -> None:
    tables = tables_of([stated("nodule", "dn")])
    tables["reports"]["report"] = "no\x1b[2J"
    for name in ("deduplicated_findings", "lunguage_plus_plus"):
        tables[name].loc[tables[name]["finding_id"] == ROW, "cues"] = "negated.no 0-6"
    assert "\x1b" not in text(explain_study(record_in(tables)))


def test_any_row_is_chosen_by_its_number_or_id() -> None:
    rows = [
        stated("nodule"),
        stated("pneumonia"),
        stated("pneumonia", location="right", section="hist"),
    ]
    assert [row.finding_id for row in explained(rows, "2").rows] == [identity(1)]
    assert [row.fate for row in explained(rows, identity(2)).rows] == ["excluded"]
    with pytest.raises(ConfigurationError, match="numbered 1 to 3"):
        explained(rows, "9")


def test_rejected_rows_are_explained_too() -> None:
    explanation = explained([stated("pneumonia", section="hist")], rejected=[REFUSED])
    assert [row.fate for row in explanation.rows] == ["excluded", "rejected"]
    passage = passages(explanation, "Lunguage.csv, row 7")["unknown status"]
    assert "column 'dx_status': found 'maybe', expected positive or negative" in passage


def test_every_code_of_the_tables_has_its_words() -> None:
    assert set(NO_PATHWAY_WORDS) == set(MATCH_REASONS) - {"matched"}
    assert set(RULE_WORDS) == set(RESOLUTION_LOG.column("rule").choices)
    assert set(P_SOURCE_WORDS) == {*P_SOURCES, "pathway"}


def test_text_of_a_report_cannot_command_a_terminal() -> None:
    hostile = "a\x1b[2Jb [red]c[/red]\r\n"
    record = record_in(tables_of([stated("nodule")]))
    for name in ("deduplicated_findings", "lunguage_plus_plus"):
        record.tables[name][0].update(sent=hostile, ent=hostile)  # type: ignore[attr-defined]
    printed = text(explain_study(record))
    assert "\x1b[2J" not in printed
    assert "[red]c[/red]" in printed


def test_a_study_delivered_again_is_explained_as_delivered_last(tmp_path: Path) -> None:
    home = home_of(tmp_path, "synthetic", old=[stated("nodule")], new=[stated("mass")])
    record = read_study(home.tables, "panel", ["old", "new"], STUDY.removeprefix("s"))
    explanation = explain_study(record)
    assert [row.title.split(":")[0] for row in explanation.rows] == ["mass"]
    assert "amended: also delivered in old; the newest version counts" in text(
        explanation
    )
    announce(home, "newest")  # registered, and not run yet
    explanation_after = explain_study(
        read_study(home.tables, "panel", ["old", "new", "newest"], STUDY)
    )
    assert "batches without a result for this ranker: newest" in text(explanation_after)


def test_an_unknown_study_or_ranker_is_answered_with_those_there(
    tmp_path: Path,
) -> None:
    home = home_of(
        tmp_path,
        "synthetic",
        first=[stated("nodule"), stated("mass", study="s00000002")],
    )
    record = read_study(home.tables, "panel", ["first"], STUDY)
    assert {row["study_id"] for rows in record.tables.values() for row in rows} == {
        STUDY
    }
    with pytest.raises(
        ConfigurationError, match=r"'s00000013'\. Batches of ranker 'panel': first\."
    ):
        read_study(home.tables, "panel", ["first"], "s00000013")
    with pytest.raises(ConfigurationError, match="ranker 'oracle' has no result"):
        read_study(home.tables, "oracle", ["first"], STUDY)


def call(home: Home, *arguments: str | Path) -> Result:
    return CliRunner().invoke(
        explain, [STUDY, "--home", str(home.root), *map(str, arguments)]
    )


def test_text_of_patients_or_undeclared_goes_into_no_pipe(
    tmp_path: Path,
) -> None:
    home = home_of(tmp_path, "synthetic", b=[stated("nodule")])
    assert SECRET in " ".join(call(home).output.split())
    (home.root / "corpus.json").unlink()
    for arguments in ((), ("--finding", "1")):
        done = call(home, *arguments)
        assert isinstance(done.exception, TextKeptBack)
        assert SECRET not in done.output + str(done.exception)


def test_text_of_patients_is_shown_on_a_terminal(
    tmp_path: Path,
) -> None:
    home = home_of(tmp_path, "credentialed", b=[stated("nodule")])
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
    printed = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while chunk := os.read(terminal, 65536):
            printed += chunk
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert SECRET in printed.decode()


def test_a_finding_id_in_the_place_of_the_study_explains_that_row(
    tmp_path: Path,
) -> None:
    home = home_of(tmp_path, "synthetic", b=[stated("nodule"), stated("effusion")])
    of_study = call(home, "--finding", identity(1))
    of_id = CliRunner().invoke(explain, [identity(1), "--home", str(home.root)])
    assert of_id.exit_code == 0
    assert of_id.output == of_study.output
    assert "effusion" in of_id.output
    assert "nodule" not in of_id.output


def test_a_denial_of_a_kind_alone_is_told_as_one() -> None:
    cells = dict.fromkeys(
        ("measurement", "morphology", "distribution", "severity", "onset"), ""
    )
    row = {"ent": "effusion", "name": "pleural effusion", "status": "tn", **cells}
    assert (
        status_of({**row, "p_source": "fitted", "sent": "Effusion is unlikely."})
        == "tentatively absent"
    )
    large = {
        **row,
        "p_source": "qualifier",
        "sent": "No large effusion.",
        "measurement": "large",
    }
    assert status_of(large) == "denied only if “large”"
    assert status_of({**large, "sent": "Of another kind."}) == "denied in part"


def test_no_error_carries_text_of_the_report(tmp_path: Path) -> None:
    home = home_of(tmp_path, "synthetic", b=[stated("nodule")])
    for arguments in (
        ["s12345678"],
        [STUDY, "--finding", "99"],
        [STUDY, "--ranker", "oracle"],
    ):
        done = CliRunner().invoke(explain, [*arguments, "--home", str(home.root)])
        assert isinstance(done.exception, LunguageError)
        assert SECRET not in str(done.exception)
