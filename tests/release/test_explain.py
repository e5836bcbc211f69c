"""`lunguage explain`: why every row of a study is as it is, removed rows too.

Text of patients is shown to the person who asks, and to nobody else.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from generated_reports import reports as reported
from hypothesis import given
from invented_reports import STUDY, StatedFinding, identity, run, stated
from profiles import examples
from rich.console import Console
from stored_tables import store_table

from lunguage_assets.annotation.page import print_report
from lunguage_assets.annotation.stored_study import (
    TABLES_OF_A_STUDY,
    Explanation,
    explain_study,
    explanation_of,
)
from lunguage_assets.assertion.categories import CATEGORIES
from lunguage_assets.assertion.cues import bundled_cues
from lunguage_assets.cli.explain import explain
from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.release.code_words import (
    COUNTED_CONFLICT_WORDS,
    CUE_WORDS,
    P_SOURCE_WORDS,
    PATHWAY_WORDS,
    RULE_WORDS,
)
from lunguage_assets.release.row_words import status_of
from lunguage_assets.settings import DataClass
from lunguage_assets.structuring.rows import structured_tables
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.structuring.text.report import cut_report
from lunguage_assets.tables import INTAKE_NOTES, REJECTED, TABLES
from lunguage_assets.tables.columns import (
    CONFLICT_SOURCES,
    CONFLICT_TYPES,
    MATCH_REASONS,
    P_SOURCES,
)
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
    tables = run(rows).stored | {
        "rejected": REJECTED.frame(list(rejected)),
        "intake_notes": INTAKE_NOTES.frame(),
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
        store_table(TABLES[name], frame, partition_path(home.tables, name, *keys))
    announce(home, batch)


def announce(home: Home, batch: str) -> None:
    """Register a batch as `Home.register` does, without files."""
    folder = home.batches / batch
    folder.mkdir(parents=True)
    number = len(home.registered())
    values = {"key": batch, "number": number, "sha256": batch}
    (folder / "batch.json").write_text(json.dumps(values))


def home_of(
    root: Path, data_class: DataClass, **batches: Sequence[StatedFinding]
) -> Home:
    home = Home(root / "home")
    home.claim(Corpus("test", data_class))
    for batch, rows in batches.items():
        store(home, batch, tables_of(rows))
    return home


def of_study(
    tables: dict[str, Any], study: str = STUDY, finding: str = ""
) -> Explanation:
    """As explained from a store, without one."""
    rows = {
        name: tables[name][tables[name]["study_id"] == study]
        for name in TABLES_OF_A_STUDY
    }
    return explanation_of(rows, finding_id=finding)


def text(explanation: Explanation, width: int = 4000) -> str:
    nowhere = io.StringIO()
    console = Console(width=width, record=True, file=nowhere, force_terminal=False)
    for report in explanation.reports:
        print_report(report, console)
    return console.export_text()


@examples(15)
@given(reported)
def test_every_row_of_a_study_is_explained_once(rows: list[StatedFinding]) -> None:
    tables = tables_of(rows)
    for study in sorted({row.study for row in rows}):
        explanation = of_study(tables, study)
        stored = {
            name: set(frame.loc[frame["study_id"] == study, "finding_id"])
            for name, frame in tables.items()
            if name in ("deduplicated_findings", "expansions", "lunguage_plus_plus")
        }
        (report,) = explanation.reports
        result = [row.finding_id for row in report.rows]
        assert len(result) == len(set(result))
        assert set(result) == stored["lunguage_plus_plus"]
        every = stored["deduplicated_findings"] | stored["expansions"]
        left_out = [row.finding_id for row in report.left_out]
        assert sorted(left_out) == sorted(every - set(result))
        printed = text(explanation)
        assert all(f"({finding_id})" in printed for finding_id in every)


HEART = [stated("CHF", "tp", p=0.6, view="pa"), stated("cardiomegaly", "dp")]
IN_IMPRESSION = stated("nodules", location="right", section="impr")
TWICE = [stated("nodule", location="right"), IN_IMPRESSION]
BOTH = [stated("pneumonia", "dn"), stated("pneumonia", "tp", p=0.2)]
LOBAR = [stated("lobar pneumonia", "dp")]
ROW = identity(0)
SIGN = identity(0) + "/0"

REASONS = [
    (HEART, ROW, "place in the ranking: mu 25.00, sigma 1.00, below 1 phrases; 20 steps, 20 valid answers; ended "
     "because its rank stayed the same"),
    (HEART, ROW, "findings, sentence 0; hedged by no known phrase"),
    (HEART, ROW, "idx 1 (s00000001:0)"),
    (HEART, ROW, SECRET),
    (HEART, ROW, "0.60 (0.30 to 0.80)"),
    (HEART, ROW, "congestive heart failure matches congestive_heart_failure_1: "),
    (HEART, SIGN, "cardiomegaly present?; already stated, see 7: the report already states it; (s00000001:0/0)"),
    (LOBAR, f"{SIGN}/0", "implied, pathway consolidation_1"),
    (TWICE, identity(1), "said 2 times"),
    (TWICE, ROW, "nodule, right present; findings, sentence 0; merged, see 1: it says the same (deduplication); "),
    (BOTH, identity(1), "pneumonia present?; findings, sentence 1; removed"),
    (BOTH, identity(1), "one says present, one absent; rule 3: the row with the highest support is kept"),
    (BOTH, f"{identity(1)}/0", "the diagnosis that implied it is gone"),
    ([stated("pneumonia", "dn")], ROW, "pneumonia expands into nothing: it is denied"),
    ([stated("pleural effusion", view="")], ROW, "the views of the study are not known"),
    ([stated("pneumonia", "tp", p=None)], ROW, "in no words that say how much"),
    ([stated("pneumonia", section="hist")], ROW, "present, past; history, sentence 0; not a finding"),
]  # fmt: skip


def test_a_row_is_explained() -> None:
    missing = []
    for rows, finding_id, words in REASONS:
        line = text(of_study(tables_of(rows), finding=finding_id))
        if words not in line:
            missing.append(words + " <> " + " ".join(line.split()))
    assert missing == []


READ = (
    "No evidence of pneumothorax. Pneumonia cannot be excluded. "
    "The effusion has resolved. The heart is not normal. Nodule."
)
DECIDED = {
    "pneumothorax": 'absent: by "No evidence of" (negated.no_evidence)',
    "pneumonia": 'left open: by "cannot be excluded" (hedged.cannot_be_excluded)',
    "effusion": 'ended: by "resolved" (ended.resolved)',
    "heart": 'abnormal: by "not" (negated.not)',
}


def test_a_row_names_the_words_that_decided_it() -> None:
    report = cut_report("s1", READ)
    findings = structured_tables(
        [report], RuleStructurer().structure([report])
    ).structured_findings
    for finding, line in DECIDED.items():
        row = findings[findings["normed_ent"].str.contains(finding)].iloc[0]
        tables = tables_of([stated(finding, row["status"])])
        tables["reports"]["report"] = READ
        for name in ("deduplicated_findings", "lunguage_plus_plus"):
            tables[name]["cues"] = row["cues"]
        assert line in text(of_study(tables, finding=ROW))


def test_any_row_is_chosen_by_its_id() -> None:
    past = stated("pneumonia", location="right", section="hist")
    tables = tables_of([stated("nodule"), stated("pneumonia"), past])
    (of_result,) = of_study(tables, finding=identity(1)).reports
    assert [row.finding_id for row in of_result.rows] == [identity(1)]
    (of_history,) = of_study(tables, finding=identity(2)).reports
    assert [row.finding_id for row in of_history.left_out] == [identity(2)]
    with pytest.raises(ConfigurationError, match=r"no finding 's00000001:9'"):
        of_study(tables, finding=identity(9))


def test_rejected_rows_are_explained_too() -> None:
    rows = [stated("pneumonia", section="hist")]
    assert of_study(tables_of(rows, rejected=[REFUSED])).rejected == [
        "Lunguage.csv, row 7: unknown status; column 'dx_status': found 'maybe', "
        "expected positive or negative. Mend the cell."
    ]


def test_every_code_of_the_tables_and_kind_of_cue_has_its_words() -> None:
    assert set(PATHWAY_WORDS) == set(MATCH_REASONS) - {"not a diagnosis"}
    assert set(RULE_WORDS) == set(RESOLUTION_LOG.column("rule").choices)
    assert set(P_SOURCE_WORDS) == {*P_SOURCES, "pathway"}
    deciding = {
        name for name, rule in CATEGORIES.items() if rule.makes not in ("", "aside")
    }
    cues = [cue for cue in bundled_cues() if cue.category in deciding]
    assert {cue.id.partition(".")[0] for cue in cues} | deciding <= set(CUE_WORDS)
    conflicts = [
        COUNTED_CONFLICT_WORDS[f"{kind} ({source})"]
        for kind in CONFLICT_TYPES
        for source in CONFLICT_SOURCES
    ]
    assert len(set(conflicts)) == len(conflicts)
    assert not [words for words in conflicts if "_" in words or "original" in words]


def test_text_of_a_report_cannot_command_a_terminal() -> None:
    hostile = "a\x1b[2Jb [red]c[/red]\r\n"
    tables = tables_of([stated("nodule", "dn"), stated("mass", section="hist")])
    tables["reports"]["report"] = f"no{hostile}"
    for name in ("deduplicated_findings", "lunguage_plus_plus"):
        cells = {"sent": hostile, "ent": hostile, "cues": "negated.no 0-9"}
        tables[name] = tables[name].assign(**cells)
    printed = text(of_study(tables))
    assert "\x1b" not in printed
    assert printed.count("[red]c[/red]") > 3


def test_a_study_delivered_again_is_explained_as_delivered_last(tmp_path: Path) -> None:
    home = home_of(tmp_path, "synthetic", old=[stated("nodule")], new=[stated("mass")])
    delivered = STUDY.removeprefix("s")
    explanation = explain_study(home.tables, "panel", ["old", "new"], delivered)
    assert [row.title for row in explanation.reports[0].rows] == ["mass"]
    amended = "amended: also delivered in old; the newest version counts"
    assert amended in text(explanation)
    announce(home, "newest")  # registered, and not run yet
    after = explain_study(home.tables, "panel", ["old", "new", "newest"], STUDY)
    assert "batches without a result for this ranker: newest" in text(after)


def test_an_unknown_study_or_ranker_is_answered_with_those_there(
    tmp_path: Path,
) -> None:
    home = home_of(tmp_path, "synthetic", first=[stated("nodule")])
    with pytest.raises(ConfigurationError, match=r"'s00000013'\. Batches: first;"):
        explain_study(home.tables, "panel", ["first"], "s00000013")
    with pytest.raises(ConfigurationError, match="a result: first"):
        explain_study(home.tables, "oracle", ["first"], STUDY)


def call(home: Home, study: str = STUDY) -> Result:
    return CliRunner().invoke(explain, [study, "--home", str(home.root)])


def test_text_of_patients_or_undeclared_goes_into_no_pipe(tmp_path: Path) -> None:
    home = home_of(tmp_path, "synthetic", b=[stated("nodule")])
    assert SECRET in " ".join(call(home).output.split())
    (home.root / "corpus.json").unlink()
    done = call(home)
    assert isinstance(done.exception, LunguageError)
    assert SECRET not in done.output + str(done.exception)


def test_a_finding_id_in_the_place_of_the_study_explains_that_row(
    tmp_path: Path,
) -> None:
    home = home_of(tmp_path, "synthetic", b=[stated("nodule"), stated("effusion")])
    of_row = call(home, identity(1))
    assert of_row.exit_code == 0
    assert "effusion" in of_row.output
    assert "nodule" not in of_row.output


def test_a_denial_of_a_kind_alone_is_told_as_one() -> None:
    kinds = ("measurement", "morphology", "distribution", "severity", "onset")
    cells = dict.fromkeys(kinds, "")
    row = {"ent": "effusion", "name": "pleural effusion", "status": "tn", **cells}
    unlikely = {**row, "p_source": "fitted", "sent": "Effusion is unlikely."}
    assert status_of(unlikely) == "tentatively absent"
    large = {**row, "p_source": "qualifier", "measurement": "large"}
    large["sent"] = "No large effusion."
    assert status_of(large) == "denied only if “large”"
    assert status_of({**large, "sent": "Of another kind."}) == "denied in part"
