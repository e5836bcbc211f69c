"""Schemas of tables: typed columns, a key, and the validation before anything is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
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
    """One column. `strings` is a list of strings, never null. A `string` that is merely absent is the empty
    string; it is nullable only where "unknown" and "empty" differ. `restricted` marks report text, which
    never leaves the store. `pattern` is a regular expression (RE2) that is found in every present string.
    """

    name: str
    type: ColumnType
    description: str
    nullable: bool = False
    choices: tuple[str, ...] | tuple[bool, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    restricted: bool = False
    pattern: str = ""

    @property
    def arrow(self) -> pa.Field:
        return pa.field(self.name, _ARROW[self.type], nullable=self.nullable)


class Where(NamedTuple):
    """A column, and the rows that may hold something in it: those in which `when` is one of `values`."""

    column: str
    when: str
    values: tuple[str, ...]


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
    """Dimensions in the order of the path `tables/<name>/<first>/<second>.parquet`; a
    table of releases alone has none."""

    per_study: bool = False
    """Whether its rows go with their study: a study that breaks a rule is set aside, and
    is taken out of it. The others list what was delivered, or asked of judges."""

    counted: str = ""
    """The column whose values the UI counts when the table is made; empty: none."""

    explained: bool = False
    """Whether `lunguage explain` reads it: the story of a row needs it."""

    released: Literal["", "combined", "as stored", "analysis"] = ""
    """What a release does with it: its rows go into files of other names; it is written
    under its own name, with the batch; it is shown where somebody has made it."""

    ordered: tuple[tuple[str, ...], ...] = ()
    """Chains of columns that never fall from left to right, as far as they are filled."""

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
        """The column of this name; `KeyError` without one."""
        return {column.name: column for column in self.columns}[name]

    def frame(
        self, rows: Iterable[Mapping[str, Any]] | Mapping[str, Sequence[Any]] = ()
    ) -> pd.DataFrame:
        """A typed frame from row mappings or from column sequences; an empty one keeps its types."""
        if not isinstance(rows, Mapping):
            listed = list(rows)
            rows = {name: [row[name] for row in listed] for name in self.names}
        arrays = [
            self._typed(column, list(rows[column.name])) for column in self.columns
        ]
        return self.from_arrow(pa.table(arrays, names=self.names))

    def from_arrow(self, table: pa.Table) -> pd.DataFrame:
        """The pandas form: `str`, int64 (Int64 when nullable), float64, bool and object columns of lists."""
        data: dict[str, Any] = {}
        for column in self.columns:
            values = table.column(column.name)
            if column.type == "strings":
                data[column.name] = pd.Series(values.to_pylist(), dtype=object)
            elif column.type == "int" and column.nullable:
                data[column.name] = pd.array(values.to_pylist(), dtype="Int64")
            elif column.type == "string":
                data[column.name] = pd.array(values, dtype="str")
            else:
                data[column.name] = values.to_numpy(zero_copy_only=False).astype(
                    _NUMPY[column.type]
                )
        return pd.DataFrame(data)

    def to_arrow(self, frame: pd.DataFrame) -> pa.Table:
        """The validated Arrow form of a frame, ready to be written; raises `InvalidTable` otherwise."""
        self.require_columns(frame)
        arrays = [self._typed(column, frame[column.name]) for column in self.columns]
        self.require(frame)
        return pa.Table.from_arrays(arrays, schema=self.arrow)

    def _typed(self, column: Column, values: Any) -> pa.Array:
        """The values as the column's Arrow type; Arrow's own message is not shown: it quotes a value."""
        try:
            return pa.array(values, type=_ARROW[column.type], from_pandas=True)
        except (
            pa.ArrowInvalid,
            pa.ArrowTypeError,
            pa.ArrowNotImplementedError,
        ) as error:
            found = (
                f"pandas dtype {values.dtype}"
                if isinstance(values, pd.Series)
                else type(error).__name__
            )
            raise InvalidTable(
                f"table {self.name}, column {column.name}: values do not fit type {column.type} ({found})"
            ) from None

    def require_columns(self, frame: pd.DataFrame) -> None:
        """Raise `InvalidTable` unless the frame has the columns of the table."""
        if wrong := sorted({*self.names} ^ {*map(str, frame.columns)}):
            raise InvalidTable(
                f"table {self.name}: missing or unexpected columns {wrong}; expected {self.names}"
            )

    def require(self, frame: pd.DataFrame, where: str = "") -> None:
        """Raise `InvalidTable` for rows that break a rule about values; `where` says which stored rows these
        are, that something other than this package changed.
        """
        if problems := "; ".join(self.violations(frame)):
            remedy = ". Materialise it again before anything reads it." if where else ""
            raise InvalidTable(
                f"table {self.name}{where and ', '}{where}: {problems}{remedy}"
            )

    def violations(self, frame: pd.DataFrame, within: Sequence[str] = ()) -> list[str]:
        """Broken value rules with counts and up to five keys each, never a value of a restricted column; keys
        are unique `within` the columns that say which partition a row is of.
        """
        return [
            f"{int(rows.sum())} rows break '{rule}', for instance {self.keys_of(frame[rows].head(5))}"
            for rule, rows in self.broken(frame, within)
        ]

    def broken(
        self, frame: pd.DataFrame, within: Sequence[str] = ()
    ) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Value rules that some rows break, in words, each with a mask of these rows; as in `violations`."""
        for rule, rows in self.rules(frame, within) if len(frame) else ():
            if rows.any():
                yield rule, rows

    def keys_of(self, rows: pd.DataFrame) -> list[str]:
        """The key of every row, as messages quote it."""
        return [
            "|".join(map(str, key))
            for key in rows[list(self.key)].itertuples(index=False)
        ]

    def rules(
        self, frame: pd.DataFrame, within: Sequence[str] = ()
    ) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Every rule about values in words, with the rows that break it; `within` as in `violations`."""
        for column in self.columns:
            yield from _column_rules(column, frame[column.name])
        for chain in self.ordered:
            for low, high in pairwise(chain):
                yield f"{low} <= {high}", _numbers(frame[low]) > _numbers(frame[high])
        for name, when, values in self.present:
            expected = frame[when].isin(values).to_numpy()
            rule = f"{name} is there exactly where {when} is {' or '.join(values)}"
            yield rule, frame[name].notna().to_numpy() != expected
        for name, when, values in self.only:
            held = frame[name].fillna("").astype(bool).to_numpy()
            rule = f"{name} holds something only where {when} is {' or '.join(values)}"
            yield rule, held & ~frame[when].isin(values).to_numpy()
        for name in self.constant:
            groups = frame.groupby(list(within))[name] if within else None
            several = (
                groups.transform("nunique") > 1
                if groups is not None
                else frame[name].nunique() > 1
            )
            yield f"{name} has one value", np.broadcast_to(several, len(frame))
        for group in (self.key, *self.unique):
            twice = frame.duplicated([*within, *group], keep=False)
            yield f"({', '.join(group)}) is unique", twice.to_numpy()


def _column_rules(
    column: Column, values: pd.Series
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    present = values.notna().to_numpy()
    if not column.nullable:
        yield f"{column.name} is never empty", ~present
    if column.choices:
        known = values.isin(column.choices).to_numpy()
        yield f"{column.name} is one of {list(column.choices)}", present & ~known
    if column.minimum is not None:
        yield f"{column.name} >= {column.minimum}", _numbers(values) < column.minimum
    if column.maximum is not None:
        yield f"{column.name} <= {column.maximum}", _numbers(values) > column.maximum
    if column.pattern:
        yield (
            f"{column.name} has the form {column.pattern}",
            present & ~_matches(values, column.pattern),
        )


def _numbers(values: pd.Series) -> NDArray[Any]:
    """Numbers as NumPy compares them; a missing one is NaN, of which no comparison holds."""
    if values.dtype == "Int64" or values.dtype == object:
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    return values.to_numpy()


def _matches(values: pd.Series, pattern: str) -> NDArray[np.bool_]:
    """Which strings match the pattern."""
    found = pc.match_substring_regex(
        pa.array(values, type=pa.string(), from_pandas=True), pattern
    )
    matching: NDArray[np.bool_] = pc.fill_null(found, False).to_numpy(
        zero_copy_only=False
    )
    return matching
