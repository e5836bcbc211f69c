"""Every rule about the rows that a release writes can fail: of the schemas, of the
beliefs. Each has a case, made from the lists of rules themselves, so that a new rule
without a case fails. What does not belong together seals nothing.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from platform_support import contents
from small_release import Made, opened, stored, stored_at
from stored_tables import plain_row

from lunguage_assets.errors import InvalidTable, MethodError
from lunguage_assets.quality.rules import belief_rules, fit_rules
from lunguage_assets.release import write
from lunguage_assets.release.newest import TABLES_PER_BATCH
from lunguage_assets.tables import REJECTED, SET_ASIDE
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
    rejected = [plain_row(REJECTED, line=line) for line in (1, 2)]
    aside = [plain_row(SET_ASIDE, study_id=f"s9999999{n}") for n in (1, 2)]
    return {**rows, "rejected": rejected, "set_aside": aside}


@pytest.fixture(scope="module")
def older(invented: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of releases in which an earlier, honest version is sealed, without
    figures.
    """
    folder = tmp_path_factory.mktemp("sealed") / "panel"
    with mock.patch.object(write, "report_figures", return_value={}):
        invented.write(folder, invented.release("first"))
    return folder


def breaking(table: Table, rule: str, rows: Rows) -> Row:
    """The last row, changed so that beside the others it breaks a rule. A rule of an
    unknown kind has no case, and fails here.
    """
    last = dict(rows[-1])
    if rule.endswith("is unique"):
        return last | {name: rows[-2][name] for name in re.findall(r"\w+", rule)[:-2]}
    name, kind = rule.split(" ", 1)
    column = table.column(name)
    number = type(last[name] or 0)
    if kind.startswith("is one of"):
        value = not column.choices[0] if column.type == "bool" else "no such code"
    elif re.fullmatch(r">= -?[\d.]+", kind):
        value = number(column.minimum - 1)
    elif re.fullmatch(r"<= -?[\d.]+", kind):
        value = number(column.maximum + 1)
    elif re.fullmatch(r"<= [a-z]\w*", kind):
        low, high = (0.9, 0.1) if column.type == "float" else (1, 0)
        return last | {name: low, kind.removeprefix("<= "): high}
    elif kind.startswith("has the form"):
        value = "" if re.search(column.pattern, "!") else "!"
    elif kind.startswith("is there exactly where"):
        given = {"string": rows[0]["study_id"], "float": 0.5}[column.type]
        value = given if last[name] is None else None
    elif kind.startswith("holds something only where"):
        (only,) = (only for only in table.only if only.column == name)
        last = next(row for row in reversed(rows) if row[only.when] not in only.values)
        value = True if column.type == "bool" else "words"
    elif kind == "has one value" and column.type == "float":
        value = last[name] + 0.5
    elif kind == "has one value":
        value = next((code for code in column.choices if code != last[name]), "another")
    else:
        raise AssertionError(f"no case for rule {rule!r}")
    return {**last, name: value}


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
    poisoned = [breaking(table, rule, rows) for rule in rules]
    problems = " ".join(table.violations(table.frame([*rows, *poisoned])))
    assert [rule for rule in rules if f"'{rule}'" not in problems] == []


def test_a_file_that_allows_forbidden_empty_cells_is_refused(
    sound: Stored, invented: Made, tmp_path: Path
) -> None:
    files = stored_at(invented.home.root / "tables", "first")
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


def fitted(**fit: Any) -> Callable[[Stored], None]:
    """Change a fit and the row that has it alike; it has no place in the ranking."""

    def change(tables: Stored) -> None:
        row = rows_where(tables, **TENTATIVE | {"status": {"tp"}})[0]
        unplaced = {"mu": None, "mu_sd": None}
        by_id(tables, "fitted_probabilities")[row["finding_id"]].update(fit | unplaced)
        row |= {name: fit[name] for name in fit if name != "p"}
        row |= {"prob": fit["p"], "support": fit["p"]}

    return change


def lost_row(tables: Stored) -> None:
    rows = tables["lunguage_plus_plus"]
    referenced = {token for row in rows for token in row["evidence"] + row["associate"]}
    stated = rows_where(tables, **STATED)
    rows.remove(next(row for row in stated if row["finding_id"] not in referenced))


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
PLACED = {
    "a pair without information has p 0.5, from 0 to 1": fitted(
        p=0.5, p_low=0.1, p_high=1.0, p_source="none"
    ),
    SURE: fitted(p=1.0, p_high=1.0, p_source="phrase"),
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
    rows = TABLES_PER_BATCH["lunguage_plus_plus"].frame()
    fits = TABLES_PER_BATCH["fitted_probabilities"].frame()
    assert set(BELIEVED) == {rule for rule, _ in belief_rules(rows)}
    assert set(PLACED) == {rule for rule, _ in fit_rules(fits)}


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
    batches = {"first": frames_with(change, sound, frames)}
    release = opened(invented.ranking, stored(tmp_path / "stored", batches))
    before = contents(older)
    with pytest.raises((InvalidTable, MethodError), match=words):
        invented.write(older, release)
    assert contents(older) == before  # LATEST and the older version are as they were
