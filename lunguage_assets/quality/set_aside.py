"""Studies that break a rule when a table is made: each is set aside whole, the others go on (docs/ui.md).

A rule about single rows costs its study. A rule about the whole (keys, one version) refuses the table, as the
store refuses one that lists what was delivered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.errors import InvalidTable
from lunguage_assets.implicit.resolution.guarantees import balance, explained_studies, violations
from lunguage_assets.quality.beliefs import Rule, belief_rules, place_rules
from lunguage_assets.tables import SET_ASIDE, TABLES
from lunguage_assets.tables.schema import Table

MOST = 0.01
"""Share of a batch's studies that may be set aside, one study at least."""

_SHOWN = frozenset({"status", "p_source", "p", "prob", "p_low", "p_high", "support"})
_ROWS_SHOWN = 3
_NUMBERS = ("int", "float", "bool")

OF_STUDIES = frozenset(
    {
        "structured_findings", "findings", "hedge_phrases", "fitted_probabilities",
        "deduplicated_findings", "pathway_matches", "expansions",
        "lunguage_plus_plus", "resolution_log", "conflicts", "accounting",
    }
)  # fmt: skip
"""Tables whose rows go with their study. The others list what was delivered or asked."""


class Aside(NamedTuple):
    """A rule that a study breaks: the step and table where, the rows, and their values without any text."""

    study_id: str
    step: str
    table: str
    rule: str
    finding_ids: tuple[str, ...]
    found: str


_MORE_RULES: Mapping[str, Callable[[pd.DataFrame], list[Rule]]] = {
    "fitted_probabilities": place_rules,
    "lunguage_plus_plus": belief_rules,
    "accounting": lambda rows: [("the accounts balance", ~(rows["balanced"].to_numpy() & balance(rows)))],
}


def broken_studies(
    step: str, frames: Mapping[str, pd.DataFrame], delivered: Iterable[str] = ()
) -> list[Aside]:
    """Every rule that a study breaks in the tables of a step, sorted.

    Args:
        step, frames: the step, and what it made, by table.
        delivered: studies that must be in LUNGUAGE_PLUS_PLUS, or explained by ACCOUNTING.

    Raises:
        InvalidTable: columns or types are not those of the table, rows break a rule about the whole, or a row
            that breaks a rule has no study.
    """
    found: set[Aside] = set()
    for name, frame in frames.items():
        if name in OF_STUDIES:
            TABLES[name].require_columns(frame)
            for rule, broken in _rules(TABLES[name], frame):
                for study, rows in frame[broken].groupby("study_id", dropna=False):
                    listed = rows.get("finding_id", ())
                    found.add(_aside(str(study) if pd.notna(study) else "", step, name, rule, rows, listed))
    if "lunguage_plus_plus" in frames and "accounting" in frames:
        resolved, explained = frames["lunguage_plus_plus"], explained_studies(frames["accounting"])
        for guarantee, study, ids in violations(resolved, delivered, explained):
            rows = resolved[resolved["finding_id"].isin(ids)]
            found.add(_aside(study, step, "lunguage_plus_plus", guarantee, rows, ids))
    return sorted(found)


def _aside(study: str, step: str, table: str, rule: str, rows: pd.DataFrame, ids: Iterable[str]) -> Aside:
    """A broken rule with the values of the columns that it speaks of and of the belief; numbers and codes,
    never a text.
    """
    if not study:
        raise InvalidTable(f"{table}: rows without a study break '{rule}', nothing stored. Report it.")
    spoken_of = _SHOWN | set(re.findall(r"\w+", rule))
    columns = [one for one in TABLES[table].columns if one.name in spoken_of and not one.restricted]
    values = []
    for row in rows.head(_ROWS_SHOWN).to_dict("records"):
        shown = {
            one.name: row[one.name] for one in columns if one.type in _NUMBERS or row[one.name] in one.choices
        }
        told = (f"{v:.12g}" if isinstance(v, float) else str(v) for v in shown.values())
        values.append(", ".join(f"{name} {value}" for name, value in zip(shown, told, strict=True)))
    return Aside(study, step, table, rule, tuple(map(str, ids)), "; ".join(values))


def set_aside_frame(asides: Sequence[Aside], reports: pd.DataFrame) -> pd.DataFrame:
    """SET_ASIDE, with the patients of REPORTS."""
    patients = dict(zip(reports["study_id"], reports["subject_id"], strict=True))
    return SET_ASIDE.frame([one._asdict() | {"subject_id": patients.get(one.study_id, "")} for one in asides])


def studies_of(asides: Iterable[Aside]) -> frozenset[str]:
    """The studies that are set aside."""
    return frozenset(one.study_id for one in asides)


def without_studies(frames: Mapping[str, Any], studies: frozenset[str]) -> dict[str, Any]:
    """The frames, those of `OF_STUDIES` without the rows of some studies; what is no frame stays."""
    kept = dict(frames)
    for name in OF_STUDIES & kept.keys() if studies else ():
        if isinstance(kept[name], pd.DataFrame):
            kept[name] = kept[name][~kept[name]["study_id"].isin(studies)].reset_index(drop=True)
    return kept


def require_few(new: Sequence[Aside], asides: Sequence[Aside], of: int, *, strict: bool) -> None:
    """Raise `InvalidTable` where too many of a batch's (`of`) studies break a rule, or any when strict; `new`
    is what the step itself found, `asides` all so far.
    """
    if not strict and len(studies_of(asides)) <= max(1, MOST * of):
        return
    named = (f"{one.rule} ({one.table}, {one.study_id}: {one.found or 'no row'})" for one in new[:5])
    why = "and the option strict is set" if strict else f"more than {MOST:.0%}"
    raise InvalidTable(
        f"{new[0].table}: {len(studies_of(new))} of {of} studies break a rule, {why}; nothing stored: "
        f"{'; '.join(dict.fromkeys(named))}. Run it again with the newest version; if the rows still break "
        "the rule, report it with this message."
    )


def _rules(table: Table, frame: pd.DataFrame) -> Iterator[Rule]:
    """The rules about single rows that some rows break.

    Raises:
        InvalidTable: rows break a rule about the whole.
    """
    whole = {f"({', '.join(table.key)}) is unique", *(f"{name} has one value" for name in table.constant)}
    for rule, rows in table.broken(frame):
        if rule in whole:
            keys = table.keys_of(frame[rows].head(5))
            raise InvalidTable(
                f"table {table.name}: rows break '{rule}', nothing stored, for instance {keys}"
            )
        yield rule, rows
    if more := _MORE_RULES.get(table.name):
        yield from ((rule, rows) for rule, rows in more(frame) if rows.any())
