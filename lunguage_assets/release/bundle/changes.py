"""What is new in a release against the one before: row by row for those who may see rows, in counts for
everyone, and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lunguage_assets.release.bundle.disclosure import Disclosure
from lunguage_assets.tables.columns import BELIEF, FINDING_ID, STUDY, text
from lunguage_assets.tables.schema import Column, Table

WHAT = ("new study", "delivered again", "study gone", "content", "probability", "provenance")

CHANGES = Table(
    "changes",
    "Rows of Lunguage++ that are new, gone or different against the version before; empty in "
    "a first version.",
    (
        STUDY,
        FINDING_ID,
        Column("change", "string", "What became of the row", choices=("added", "removed", "changed")),
        Column(
            "what",
            "string",
            "new study, delivered again, study gone: the whole study is new, newer or no longer "
            "there. Of the same delivery: content: the row "
            "itself; probability: only what is believed of it; provenance: only which ranking, "
            "mode or encoder it names",
            choices=WHAT,
        ),
        text("columns", "Columns that differ in a changed row, comma-separated; else empty"),
    ),
    ("finding_id",),
)

_BELIEVED = tuple(column.name for column in BELIEF)
_NAMED = ("ranking_version", "encoder", "mode", "ranker", "judges", "ruler")

_LABELS = {
    "ranking": "the ranking",
    "judges": "what judges stand for",
    "members": "the panel",
    "extractor": "the extractor",
    "prompts": "prompts",
    "seeds": "seeds",
    "settings": "settings",
    "files": "files",
    "encoders": "the encoder",
    "corpus": "the corpus",
    "batches": "batches",
    "analyses": "analyses",
    "software": "software",
    "packages": "packages",
    "ranker": "the ranker",
    "bundle": "the bundle's form",
}
_OF_PROBABILITY = (
    "ranking",
    "judges",
    "members",
    "extractor",
    "prompts",
    "seeds",
    "settings.explicit",
    "files.anchors",
    "files.corrections",
)
_OF_CONTENT = (
    "settings.implicit",
    "settings.corpus",
    "files.pathways",
    "files.blacklist",
    "encoders",
    *_OF_PROBABILITY,
)
_OF_CODE = ("software", "packages")
_NONE = "no recorded input differs"


@dataclass(frozen=True)
class InputChange:
    """One entry of the provenance that differs, by its dotted name; None where it is missing."""

    name: str
    before: Any
    after: Any

    @property
    def line(self) -> str:
        if self.before is None or self.after is None:
            return f"`{self.name}`: {'new, ' + _shown(self.after) if self.before is None else 'gone'}"
        before, after = self.before, self.after
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
            before, after = ({name: side.get(name, "none") for name in names} for side in (before, after))
        return f"`{self.name}`: {_shown(before)} -> {_shown(after)}"


def changed_rows(before: pd.DataFrame | None, after: pd.DataFrame) -> pd.DataFrame:
    """Two released Parquets (RELEASE, perhaps of an older schema) to CHANGES, sorted by study and finding;
    None: there was none before.

    Columns that only one of them has are not compared.
    """
    if before is None:
        return CHANGES.frame()
    old, new = (frame.set_index("finding_id", drop=False) for frame in (before, after))
    batch_before, batch_after = (
        dict(zip(frame["study_id"], frame["report_batch"], strict=True)) for frame in (old, new)
    )

    def fate(study: str) -> str | None:
        """What became of a study as a whole; None: the same delivery is in both."""
        if study not in batch_before:
            return "new study"
        if study not in batch_after:
            return "study gone"
        return "delivered again" if batch_before[study] != batch_after[study] else None

    lines = [_line(new, own, "added", fate) for own in new.index.difference(old.index)]
    lines += [_line(old, own, "removed", fate) for own in old.index.difference(new.index)]
    both = new.index.intersection(old.index)
    for own, columns in _differing(old.loc[both], new.loc[both]):
        kind = "content"
        if set(columns) <= set(_NAMED):
            kind = "provenance"
        elif set(columns) <= {*_NAMED, *_BELIEVED}:
            kind = "probability"
        lines.append(_line(new, own, "changed", fate, kind, ",".join(columns)))
    return CHANGES.frame(sorted(lines, key=lambda line: (line["study_id"], line["finding_id"])))


def _line(
    frame: pd.DataFrame, own: str, change: str, fate: Any, kind: str = "content", columns: str = ""
) -> dict[str, str]:
    study = str(frame.at[own, "study_id"])
    return {
        "study_id": study,
        "finding_id": own,
        "change": change,
        "what": fate(study) or kind,
        "columns": columns,
    }


def _differing(old: pd.DataFrame, new: pd.DataFrame) -> Iterator[tuple[str, list[str]]]:
    """Rows of two frames of the same index that differ, with the columns in which they do."""
    compared = [name for name in new.columns if name in old.columns and name != "report_batch"]
    unlike = pd.DataFrame({name: _unlike(old[name], new[name]) for name in compared}, index=new.index)
    rows = unlike[unlike.any(axis=1)]
    for own, flags in zip(rows.index, rows.to_numpy(dtype=bool), strict=True):
        yield str(own), [name for name, differs in zip(compared, flags, strict=True) if differs]


def _unlike(old: pd.Series, new: pd.Series) -> pd.Series:
    if new.dtype == object or old.dtype == object:
        return pd.Series(
            [list(a) != list(b) for a, b in zip(old, new, strict=True)], index=new.index, dtype=bool
        )
    return ~((old == new) | (old.isna() & new.isna())).fillna(False).astype(bool)


def changed_inputs(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[InputChange]:
    """What of the provenance differs, in the order of the new one."""
    old, new = dict(_flattened(before)), dict(_flattened(after))
    names = [*new, *(name for name in old if name not in new)]
    return [
        InputChange(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)
    ]


_WHOLE = ("batches", "files", "judges")
"""Entries of which each is one thing: a batch, a file, a judge."""


def _flattened(values: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(values, Mapping) and values and name.partition(".")[0] not in _WHOLE:
        for key, inner in values.items():
            yield from _flattened(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(values, Mapping) and name in _WHOLE:
        yield from ((f"{name}.{key}", inner) for key, inner in values.items())
    else:
        yield name, values


def _shown(value: Any) -> str:
    """A value on one line: hashes by their first digits, of a table its values."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_shown(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return " ".join(_shown(inner) for inner in value) or "none"
    text = str(value)
    return text[:12] if len(text) == 64 and set(text) <= set("0123456789abcdef") else text


def reason(what: str, inputs: Sequence[InputChange]) -> str:
    """Why rows of a kind (`WHAT`) differ, as far as the inputs tell: of several changed inputs it cannot be
    known which one a row is due to.
    """
    if what in ("new study", "delivered again", "study gone"):
        batches = [item.name.removeprefix("batches.") for item in inputs if item.name.startswith("batches.")]
        return f"batches {', '.join(batches)}" if batches else _NONE
    groups = {"content": _OF_CONTENT, "probability": _OF_PROBABILITY, "provenance": _OF_CONTENT}[what]
    names = {_cause(item.name) for item in inputs if item.name.startswith(groups)} or {
        _cause(item.name) for item in inputs if item.name.startswith(_OF_CODE)
    }
    return ", ".join(sorted(names)) or _NONE


def _cause(name: str) -> str:
    """An input in a few words: what kind it is, and its own name where the kind has several."""
    kind, *rest = name.split(".")
    return (
        f"{_LABELS[kind]} {'.'.join(rest[:2])}"
        if kind == "settings"
        else f"{rest[0]} file"
        if kind == "files"
        else _LABELS[kind]
    )


def change_log(
    name: str,
    before: str | None,
    rows: pd.DataFrame | None,
    inputs: Sequence[InputChange],
    disclosure: Disclosure,
    earlier: str,
) -> str:
    """`CHANGELOG.md`: counts of CHANGES rows and studies with their reasons, then the inputs that differ,
    then what earlier versions said.

    Args:
        name: of this version.
        before: name of the version before; None: this is the first.
        rows: CHANGES; None: the rows of the version before are gone, so that nothing can be said of them.
        inputs: what of the provenance differs.
        disclosure: how counts may be shown.
        earlier: the log of the version before, with its heading; empty for the first.
    """
    head = "# Changes\n"
    if before is None:
        return f"{head}\n## {name}\n\nThe first version.\n"
    parts = [f"## {name}, against {before}"]
    if rows is None:
        parts.append(f"The rows of {before} are no longer there, so they were not compared.")
    else:
        parts.append(_counted(rows, inputs, disclosure) if len(rows) else "No row of Lunguage++ differs.")
    if inputs:
        parts.append("What it was made from differs in:")
        parts.append("\n".join(f"- {item.line}" for item in inputs))
    if rows is not None and len(rows):
        rounded = (
            f"Counts are rounded to multiples of {disclosure.threshold}. " if disclosure.withholds else ""
        )
        parts.append(f"{rounded}Rows by key are in `restricted/changes.csv`.")
    return "\n\n".join([head.rstrip(), *parts]) + "\n" + earlier.removeprefix(head)


def _counted(rows: pd.DataFrame, inputs: Sequence[InputChange], disclosure: Disclosure) -> str:
    lines = ["| rows | what | rows | studies | because of |", "|---|---|---:|---:|---|"]
    groups = rows.groupby(["change", "what"], sort=True)
    for (change, what), group in groups:
        counts = f"{disclosure.shown(len(group))} | {disclosure.shown(group['study_id'].nunique())}"
        lines.append(f"| {change} | {what} | {counts} | {reason(str(what), inputs)} |")
    return "\n".join(lines)
