"""Every rule about the rows that a release writes can fail: of the schemas, of the
beliefs. Each has a case, made from the lists of rules themselves, so that a new rule
without a case fails. What does not belong together seals nothing.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from platform_support import contents
from small_release import Made, opened, stored, write_release

from lunguage_assets.errors import InvalidTable, MethodError
from lunguage_assets.quality.rules import belief_rules, fit_rules
from lunguage_assets.release import write
from lunguage_assets.release.context import Release
from lunguage_assets.release.newest import TABLES_PER_BATCH
from lunguage_assets.release.write import write_bundle
from lunguage_assets.tables.schema import Table

Row = dict[str, Any]
Rows = list[Row]
Stored = dict[str, Rows]
"""Rows of the tables of one batch."""


@pytest.fixture(scope="module")
def sound(invented: Made) -> Stored:
    """What the release reads of a batch; two of its delivered rows were rejected, two
    studies set aside.
    """
    frames = invented.batches["first"].items()
    rows = {name: pa.Table.from_pandas(frame).to_pylist() for name, frame in frames}
    rejected_row = {
        "file": "a.csv",
        "study_id": "",
        "column": "",
        "found": "",
        "expected": "a study",
    }
    rejected_row |= {"remedy": "fix it", "reason": "no study", "content": "{}"}
    row_set_aside = {
        "subject_id": "",
        "step": "fitting",
        "table": "fitted_probabilities",
        "rule": "0 < p < 1",
    }
    row_set_aside |= {"finding_ids": [], "found": "p 1"}
    return {
        **rows,
        "rejected": [{**rejected_row, "line": line} for line in (1, 2)],
        "set_aside": [
            {**row_set_aside, "study_id": f"s9999999{number}"} for number in (1, 2)
        ],
    }


@pytest.fixture(scope="module")
def older(invented: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of releases in which an earlier, honest version is sealed, without
    figures.
    """
    folder = tmp_path_factory.mktemp("sealed") / "panel"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "report_figures", lambda _: {})
        write_release(invented, folder, "first")
    return folder


@pytest.fixture(scope="module")
def files(
    invented: Made, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Path]:
    """The honest tables of the batch."""
    return stored(
        tmp_path_factory.mktemp("honest"), {"first": invented.batches["first"]}
    )["first"]


def refused(release: Release, inputs: Made, older: Path) -> str:
    """Try to seal the release beside the older one: why it was refused, nothing having
    changed.
    """
    before = contents(older)
    with pytest.raises((InvalidTable, MethodError)) as refusal:
        write_bundle(release, older, inputs.origin(), {}, inputs.examples)
    assert contents(older) == before  # LATEST and the older version are as they were
    return str(refusal.value)


def absent(table: Table, rows: Rows, column: str) -> None:
    rows[-1][column] = math.nan if table.column(column).type == "float" else None


def other_code(table: Table, rows: Rows, column: str) -> None:
    first = table.column(column).choices[0]
    rows[-1][column] = not first if isinstance(first, bool) else "no such code"


def too_small(table: Table, rows: Rows, column: str) -> None:
    rows[-1][column] = type(rows[-1][column] or 0)(table.column(column).minimum - 1)


def too_large(table: Table, rows: Rows, column: str) -> None:
    rows[-1][column] = type(rows[-1][column] or 0)(table.column(column).maximum + 1)


def falling(table: Table, rows: Rows, low: str, high: str) -> None:
    rows[-1] |= (
        {low: 0.9, high: 0.1}
        if table.column(low).type == "float"
        else {low: 1, high: 0}
    )


def of_another_form(table: Table, rows: Rows, column: str) -> None:
    rows[-1][column] = "" if re.search(table.column(column).pattern, "!") else "!"


def there_or_not(table: Table, rows: Rows, column: str) -> None:
    value = {"string": rows[0]["study_id"], "float": 0.5}[table.column(column).type]
    rows[-1][column] = value if rows[-1][column] is None else None


def held_elsewhere(table: Table, rows: Rows, column: str) -> None:
    (rule,) = (
        restriction for restriction in table.only if restriction.column == column
    )
    row = next(row for row in reversed(rows) if row[rule.when] not in rule.values)
    row[column] = True if table.column(column).type == "bool" else "words"


def several(table: Table, rows: Rows, column: str) -> None:
    other_codes = [
        code for code in table.column(column).choices if code != rows[-1][column]
    ]
    if table.column(column).type == "float":
        rows[-1][column] += 0.5
    else:
        rows[-1][column] = other_codes[0] if other_codes else "another"


def twice(table: Table, rows: Rows, columns: str) -> None:
    rows[-1] |= {name: rows[-2][name] for name in columns.split(", ")}


KINDS: Mapping[str, Callable[..., None]] = {
    r"(\w+) is never empty": absent,
    r"(\w+) is one of .*": other_code,
    r"(\w+) >= -?[\d.]+": too_small,
    r"(\w+) <= -?[\d.]+": too_large,
    r"(\w+) <= ([a-z]\w*)": falling,
    r"(\w+) has the form .*": of_another_form,
    r"(\w+) is there exactly where .*": there_or_not,
    r"(\w+) holds something only where .*": held_elsewhere,
    r"(\w+) has one value": several,
    r"\((.*)\) is unique": twice,
}


def breaking(table: Table, rule: str, rows: Rows) -> Rows:
    """Rows that, beside the others, break a rule. A rule of an unknown kind has no
    case, and fails here.
    """
    changed = [dict(row) for row in rows]
    ((kind, change),) = (
        (kind, change) for kind, change in KINDS.items() if re.fullmatch(kind, rule)
    )
    names = re.fullmatch(kind, rule).groups()
    change(table, changed, *names)
    return [row for row, before in zip(changed, rows, strict=True) if row != before]


@pytest.mark.parametrize(
    "table", TABLES_PER_BATCH.values(), ids=lambda table: table.name
)
def test_every_rule_of_a_schema_finds_the_rows_that_break_it(
    table: Table, sound: Stored
) -> None:
    rules = [rule for rule, _ in table.rules(table.frame())]
    # A frame has no room for an empty number, truth or list.
    rules = [rule for rule in rules if not rule.endswith(" is never empty")]
    rows = sound[table.name]
    poisoned = [row for rule in rules for row in breaking(table, rule, rows)]
    problems = " ".join(table.violations(table.frame([*rows, *poisoned])))
    assert [rule for rule in rules if f"'{rule}'" not in problems] == []


def test_a_file_that_allows_forbidden_empty_cells_is_refused(
    sound: Stored, files: Mapping[str, Path], invented: Made, tmp_path: Path
) -> None:
    table = TABLES_PER_BATCH["reports"]
    schema = pa.schema([field.with_nullable(True) for field in table.arrow])
    gaps = tmp_path / "gaps.parquet"
    pq.write_table(pa.Table.from_pylist(sound["reports"], schema=schema), gaps)
    with pytest.raises(InvalidTable, match="written under another schema"):
        opened(invented.ranking, {"first": {**files, "reports": gaps}})


def rows_where(tables: Stored, **allowed_by_column: Any) -> Rows:
    """LUNGUAGE_PLUS_PLUS rows that nothing is generated from, with these values."""
    rows = tables["lunguage_plus_plus"]
    parents = {row["parent_id"] for row in rows}
    childless = [row for row in rows if row["finding_id"] not in parents]
    for name, allowed in allowed_by_column.items():
        childless = [row for row in childless if row[name] in allowed]
    return childless


STATED = {"source": {"original"}}
GENERATED = {"source": {"expansion"}}
DEFINITE = STATED | {"status": {"dp", "dn"}}
TENTATIVE = STATED | {"status": {"tp", "tn"}, "p_source": {"fitted"}}
POSITIVE = GENERATED | {"status": {"dp", "tp"}}


def by_id(tables: Stored, name: str = "lunguage_plus_plus") -> dict[str, Row]:
    return {row["finding_id"]: row for row in tables[name]}


def changed(
    allowed_by_column: Mapping[str, Any], **values: Any
) -> Callable[[Stored], None]:
    """Other values in the first row that has what is wanted."""
    return lambda tables: rows_where(tables, **allowed_by_column)[0].update(values)


def beyond_its_parent(tables: Stored) -> None:
    rows = by_id(tables)
    child = next(
        row
        for row in rows_where(tables, **POSITIVE)
        if rows[row["parent_id"]]["support"] < 0.9
    )
    child["prob"] = rows[child["parent_id"]]["prob"] + 1e-8


def fitted_and_stated(tables: Stored, fit: Mapping[str, Any]) -> None:
    """Change a fit and the row that has it alike."""
    row = rows_where(tables, **TENTATIVE | {"status": {"tp"}})[0]
    by_id(tables, "fitted_probabilities")[row["finding_id"]].update(fit)
    row |= {"prob": fit["p"], "support": fit["p"]}
    row |= {name: fit[name] for name in ("p_low", "p_high", "p_source") if name in fit}


def lost_row(tables: Stored) -> None:
    referenced_ids = {
        token
        for row in tables["lunguage_plus_plus"]
        for token in row["evidence"] + row["associate"]
    }
    row = next(
        row
        for row in rows_where(tables, **STATED)
        if row["finding_id"] not in referenced_ids
    )
    tables["lunguage_plus_plus"].remove(row)


def older_ranking(tables: Stored) -> None:
    for row in tables["lunguage_plus_plus"]:
        row["ranking_version"] = "another"


SURE = "a tentative finding is never certain: 0 < p < 1"

BELIEVED = {
    "a definite finding is certain: 1 if present, 0 if absent": changed(
        DEFINITE | {"status": {"dp"}}, p_low=0.9
    ),
    "a definite finding has p by its status": changed(DEFINITE, p_source="fitted"),
    "a tentative finding has p by its fit, its phrases or nothing": changed(
        TENTATIVE, p_source="definitive"
    ),
    SURE: changed(TENTATIVE | {"status": {"tp"}}, prob=1.0, p_high=1.0, support=1.0),
    "the support of a stated finding is p, or 1 - p of a denied one": changed(
        TENTATIVE, support=0.01
    ),
    "a generated row has p by its pathway, and says that it is a bound": changed(
        GENERATED, p_source="phrase"
    ),
    "an implied finding is not more probable than its parent": beyond_its_parent,
}
WITHOUT = {"mu": None, "mu_sd": None}
PLACED = {
    "a pair without information has p 0.5, from 0 to 1": lambda tables: (
        fitted_and_stated(
            tables,
            {"p": 0.5, "p_low": 0.1, "p_high": 1.0, "p_source": "none", **WITHOUT},
        )
    ),
    SURE: lambda tables: fitted_and_stated(
        tables, {"p": 1.0, "p_high": 1.0, "p_source": "phrase", **WITHOUT}
    ),
}
OF_ROWS = [
    (rule, change) for rules in (BELIEVED, PLACED) for rule, change in rules.items()
]
OF_ALL = [
    ("not the rows that accounting counted", lost_row),
    ("not the rows that accounting counted", lambda tables: tables["accounting"].pop()),
    ("another in mode method", older_ranking),
]
"""What is no rule of single rows, by what its refusal says."""


def broken(frames: Mapping[str, pd.DataFrame]) -> set[str]:
    """The rules about probabilities that do not hold."""
    rules = [
        *belief_rules(frames["lunguage_plus_plus"]),
        *fit_rules(frames["fitted_probabilities"]),
    ]
    return {rule for rule, wrong in rules if wrong.any()}


def test_every_rule_about_probabilities_has_a_case() -> None:
    rows, fitted = (
        TABLES_PER_BATCH[name].frame()
        for name in ("lunguage_plus_plus", "fitted_probabilities")
    )
    assert set(BELIEVED) == {rule for rule, _ in belief_rules(rows)}
    assert set(PLACED) == {rule for rule, _ in fit_rules(fitted)}


@pytest.fixture(scope="module")
def frames(sound: Stored) -> Mapping[str, pd.DataFrame]:
    """The rows that the cases change; they break no rule."""
    frame_by_table = {
        name: table.frame(sound[name]) for name, table in TABLES_PER_BATCH.items()
    }
    assert broken(frame_by_table) == set()
    return frame_by_table


def frames_with(
    change: Callable[[Stored], None], sound: Stored, frames: Mapping[str, pd.DataFrame]
) -> dict[str, pd.DataFrame]:
    """The frames after a change; those that it leaves alone are not made again."""
    tables = copy.deepcopy(sound)
    change(tables)
    changed_tables = {
        name: table.frame(tables[name])
        for name, table in TABLES_PER_BATCH.items()
        if tables[name] != sound[name]
    }
    return {**frames, **changed_tables}


def test_each_rule_about_rows_finds_those_that_break_exactly_it(
    sound: Stored, frames: Mapping[str, pd.DataFrame]
) -> None:
    wrong = {}
    for rule, change in OF_ROWS:
        found = broken(frames_with(change, sound, frames))
        if found != {rule}:
            wrong[rule] = found
    assert wrong == {}


@pytest.mark.parametrize(("words", "change"), OF_ALL)
def test_what_does_not_belong_together_seals_nothing(
    words: str,
    change: Callable[[Stored], None],
    sound: Stored,
    frames: Mapping[str, pd.DataFrame],
    invented: Made,
    older: Path,
    tmp_path: Path,
) -> None:
    changed_frames = frames_with(change, sound, frames)
    release = opened(
        invented.ranking, stored(tmp_path / "stored", {"first": changed_frames})
    )
    assert words in refused(release, invented, older)
