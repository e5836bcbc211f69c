"""Schemas of tables: typed columns, a key, and what is asserted of rows.

Everything that is derived from a table reads it here: Parquet types, validation, the
data dictionary, columns in the UI, partitions.

Not here: the tables themselves, one module for each half of the method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lunguage_assets.errors import InvalidTable

ColumnType = Literal["string", "int", "float", "bool", "strings"]

_ARROW: Mapping[ColumnType, pa.DataType] = {
    "string": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "strings": pa.list_(pa.string()),
}
_NUMPY = {"int": np.int64, "float": np.float64, "bool": np.bool_}


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        name: as in the stored file.
        description: for the data dictionary and the UI.
        minimum: of a number.
        maximum: of a number.
        type: `strings` is a list of strings, never null.
        nullable: whether a value may be missing. A string that is merely absent is the
            empty string; it is nullable only where "unknown" and "empty" differ.
        choices: the closed list of values; empty: any.
        restricted: whether it is report text, which never leaves the store.
        pattern: regular expression (RE2) that is found in every present string.
    """

    name: str
    description: str
    minimum: float | None = None
    maximum: float | None = None
    _: KW_ONLY
    type: ColumnType
    nullable: bool = False
    choices: tuple[str, ...] | tuple[bool, ...] = ()
    restricted: bool = False
    pattern: str = ""

    @property
    def arrow(self) -> pa.Field:
        return pa.field(self.name, _ARROW[self.type], nullable=self.nullable)


class Where(NamedTuple):
    """A column, and the rows in which it may hold something.

    Attributes:
        column: that may.
        when: the column that decides.
        values: of `when`, in these rows.
    """

    column: str
    when: str
    values: tuple[str, ...]


class BrokenRule(NamedTuple):
    """A rule in words, and the rows that break it."""

    rule: str
    rows: NDArray[np.bool_]


Dimension = Literal["report_batch", "structurer", "judge", "ranker"]
"""What a stored table has one file for each of: a batch of reports, who structured it,
who judged, whose scale placed the findings.
"""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A named table, and every fact about it that other rooms ask for.

    Rules about its values stand last; they are asserted before anything is stored.

    Attributes:
        name: as in paths, in Dagster and in SQL.
        description: for the data dictionary and the UI.
        key: columns that are unique together.
        columns: in the order of the stored file.
    """

    name: str
    description: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    partitioned_by: tuple[Dimension, ...] = ()
    """Dimensions in the order of the path `tables/<name>/<first>/<second>.parquet`,
    which is that of their names; a table of releases alone has none."""

    per_study: bool = False
    """Whether its rows go with their study: a study that breaks a rule is set aside,
    and is taken out of it. The others list what was delivered, or asked of judges."""

    explained: bool = False
    """Whether `lunguage explain` reads it: the story of a row needs it."""

    released: Literal["", "combined", "as stored", "analysis"] = ""
    """What a release does with it: its rows go into files of other names; it is written
    under its own name, with the batch; it is shown where somebody has made it."""

    ordered: tuple[tuple[str, ...], ...] = ()
    """Chains of columns that never fall from left to right, as far as they are filled.
    """

    unique: tuple[tuple[str, ...], ...] = ()
    """Groups of columns that are unique together, besides the key."""

    present: tuple[Where, ...] = ()
    """Nullable columns that are filled in exactly these rows."""

    only: tuple[Where, ...] = ()
    """Columns that hold something (a text, a yes) in no other rows."""

    constant: tuple[str, ...] = ()
    """Columns with one value in all rows of a partition."""

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def arrow(self) -> pa.Schema:
        return pa.schema([column.arrow for column in self.columns])

    def column(self, name: str) -> Column:
        """Find the column of this name; `KeyError` without one."""
        return {column.name: column for column in self.columns}[name]

    # Frames of the table.

    def frame(
        self,
        rows: pd.DataFrame
        | Iterable[Mapping[Any, Any]]
        | Mapping[Any, Sequence[Any]] = (),
    ) -> pd.DataFrame:
        """Make a typed frame from one with more columns, row mappings, or columns.

        An empty frame has the types, too.
        """
        if isinstance(rows, pd.DataFrame) and rows.empty:
            # Its columns may have any type.
            rows = ()
        if not isinstance(rows, Mapping | pd.DataFrame):
            row_list = list(rows)
            rows = {name: [*map(itemgetter(name), row_list)] for name in self.names}
        columns = {
            column.name: self._typed(column, rows[column.name])
            for column in self.columns
        }
        return self.from_arrow(pa.table(columns))

    def from_arrow(self, table: pa.Table) -> pd.DataFrame:
        """Make a frame of an Arrow table with all columns, or with some.

        They are `str`, int64 (Int64 when nullable), float64, bool, and objects for
        lists.
        """
        return pd.DataFrame(
            {
                column.name: _pandas_column(column, table[column.name])
                for column in self.columns
                if column.name in table.column_names
            }
        )

    def to_arrow(self, frame: pd.DataFrame) -> pa.Table:
        """Validate a frame, and make the Arrow table that is written.

        Raises:
            InvalidTable: columns, types or values are not those of the table.
        """
        self.require_columns(frame)
        arrays = [self._typed(column, frame[column.name]) for column in self.columns]
        self.require(frame)
        return pa.Table.from_arrays(arrays, schema=self.arrow)

    def _typed(self, column: Column, values: Any) -> pa.Array:
        try:
            return pa.array(values, type=_ARROW[column.type], from_pandas=True)
        except pa.ArrowException as error:
            # Arrow's own message is not shown: it quotes a value.
            raise InvalidTable(
                f"table {self.name}, column {column.name}: values do not fit type "
                f"{column.type} ({type(error).__name__})"
            ) from None

    # Rules about values.

    def require_columns(self, frame: pd.DataFrame) -> None:
        """Refuse a frame without exactly the columns of the table.

        Raises:
            InvalidTable: some are missing, or not expected.
        """
        wrong = sorted({*self.names} ^ {*map(str, frame.columns)})
        if wrong:
            raise InvalidTable(
                f"table {self.name}: missing or unexpected columns {wrong}; expected "
                f"{self.names}"
            )

    def require(self, frame: pd.DataFrame) -> None:
        """Refuse rows that break a rule about values.

        Raises:
            InvalidTable: rows break a rule.
        """
        problems = "; ".join(self.violations(frame))
        if problems:
            raise InvalidTable(f"table {self.name}: {problems}")

    def violations(self, frame: pd.DataFrame) -> list[str]:
        """Say which rules rows break, with counts and up to five keys each.

        A value of a restricted column is never shown.
        """
        messages: list[str] = []
        for rule, rows in self.broken(frame):
            keys = self.keys_of(frame[rows].head(5))
            messages.append(f"{rows.sum()} rows break '{rule}', for instance {keys}")
        return messages

    def broken(self, frame: pd.DataFrame) -> Iterator[BrokenRule]:
        """List the rules that some rows break."""
        rules = self.rules(frame) if len(frame) else ()
        yield from (rule for rule in rules if rule.rows.any())

    def keys_of(self, rows: pd.DataFrame) -> list[str]:
        """Write the key of every row, as messages quote it."""
        keys = rows[list(self.key)].itertuples(index=False)
        return ["|".join(map(str, key)) for key in keys]

    def rules(self, frame: pd.DataFrame) -> Iterator[BrokenRule]:
        """Hold rows against every rule, broken or not."""
        for column in self.columns:
            yield from _column_rules(column, frame[column.name])
        for chain in self.ordered:
            for low, high in pairwise(chain):
                falls = _numbers(frame[low]) > _numbers(frame[high])
                yield BrokenRule(f"{low} <= {high}", falls)
        for name, when, values in self.present:
            is_expected = frame[when].isin(values)
            rule = f"{name} is there exactly where {when} is {' or '.join(values)}"
            yield _broken(rule, frame[name].notna() != is_expected)
        for name, when, values in self.only:
            is_expected = frame[when].isin(values)
            holds_something = frame[name].fillna("").astype(bool)
            rule = f"{name} holds something only where {when} is {' or '.join(values)}"
            yield _broken(rule, holds_something & ~is_expected)
        for name in self.constant:
            has_several = np.full(len(frame), frame[name].nunique() > 1)
            yield BrokenRule(f"{name} has one value", has_several)
        for group in (self.key, *self.unique):
            is_twice = frame.duplicated(list(group), keep=False)
            yield _broken(f"({', '.join(group)}) is unique", is_twice)


def _broken(rule: str, rows: pd.Series) -> BrokenRule:
    return BrokenRule(rule, rows.to_numpy(dtype=bool))


def _pandas_column(column: Column, values: pa.ChunkedArray) -> Any:
    if column.type == "strings":
        return pd.Series(values.to_pylist(), dtype=object)
    if column.type == "string":
        return pd.array(values, dtype="str")
    if column.type == "int" and column.nullable:
        return pd.array(values.to_pylist(), dtype="Int64")
    array = values.to_numpy(zero_copy_only=False)
    return array.astype(_NUMPY[column.type])


def _column_rules(column: Column, values: pd.Series) -> Iterator[BrokenRule]:
    """Hold the values of a column against its own rules."""
    name = column.name
    is_missing = values.isna().to_numpy()
    if not column.nullable:
        yield BrokenRule(f"{name} is never empty", is_missing)
    if column.choices:
        rule = f"{name} is one of {list(column.choices)}"
        is_allowed = values.isin(column.choices).to_numpy()
        yield BrokenRule(rule, ~(is_missing | is_allowed))
    if column.minimum is not None:
        is_low = _numbers(values) < column.minimum
        yield BrokenRule(f"{name} >= {column.minimum}", is_low)
    if column.maximum is not None:
        is_high = _numbers(values) > column.maximum
        yield BrokenRule(f"{name} <= {column.maximum}", is_high)
    if column.pattern:
        # Arrow's patterns (RE2) take no time beyond measure, whatever the text.
        strings = pa.array(values, type=pa.string(), from_pandas=True)
        matches = pc.match_substring_regex(strings, column.pattern)
        has_form = pc.fill_null(matches, True).to_numpy(zero_copy_only=False)
        yield BrokenRule(f"{name} has the form {column.pattern}", ~has_form)


def _numbers(values: pd.Series) -> NDArray[Any]:
    """Make numbers that NumPy compares; no comparison holds of a missing one (NaN)."""
    return values.to_numpy(dtype=np.float64, na_value=np.nan)
