"""The report of a release: the paper's tables and figures in one page that opens without a network. What
stands in it, and its words, are in `resources/release/report.html.j2`; here are its numbers.

Every table and figure says how many cases are behind it, in which unit, and which table it comes from.
Nothing is computed again, and what was not run is named.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lunguage_assets.data_files import page_template
from lunguage_assets.documents import cell_text, is_numeric
from lunguage_assets.implicit.pathways.pathway_tree import pathway_tree
from lunguage_assets.release.bundle.context import ReportContext
from lunguage_assets.release.report.figures import published_places
from lunguage_assets.release.report.paper_tables import published_values
from lunguage_assets.release.report.scales import published_scales
from lunguage_assets.tables import PATHWAY_AUDIT
from lunguage_assets.tables.paper import (
    CERTAINTY_TABLE,
    CONFLICT_TABLE,
    CORPUS_FIGURES,
    EXPANSION_TABLE,
    FIT_TABLE,
)

_ABOUT = {
    "certainty": CERTAINTY_TABLE,
    "fit": FIT_TABLE,
    "expansion": EXPANSION_TABLE,
    "pathway_audit": PATHWAY_AUDIT,
    "conflicts": CONFLICT_TABLE,
    "figures": CORPUS_FIGURES,
}
_AGREEMENT = ["measure", "coding", "first", "second", "value", "published", "low", "high", "n"]


@dataclass(frozen=True)
class ReportTable:
    """A table as text; `numeric` columns stand to the right.

    `bars`: of every row the lower end, the value and the upper end of what is drawn from 0 to 1 beside the
    first column, None where it has no value; empty for a table without bars.
    """

    headings: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    bars: tuple[tuple[float, float, float] | None, ...] = ()


def report_page(context: ReportContext, figures: Mapping[str, bytes]) -> str:
    """The page. Whatever it shows is escaped; it loads nothing, and no browser may let it load anything."""
    return page_template("release", "report.html.j2").render(
        context=context,
        settings=context.origin.settings.explicit,
        facts=_facts(context),
        figures=figures,
        tables=_tables(context),
        about={name: table.description for name, table in _ABOUT.items()},
        published=published_values(),
        scales=published_scales(),
        pathway_tree=pathway_tree,
        size=lambda png: struct.unpack(">II", png[16:24]),  # a PNG's header
        inline=lambda png: f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}",
    )


def report_table(
    frame: pd.DataFrame,
    decimals: Mapping[str, int] | None = None,
    bar: tuple[str, str, str] | None = None,
) -> ReportTable:
    """A frame as text; a column is numeric when nothing in it is a word.

    `bar` names the columns that are drawn: lower end, value, upper end.
    """
    fixed = decimals or {}
    columns = [
        [_cell(value, fixed.get(str(name))) for value in frame[name].tolist()] for name in frame.columns
    ]
    numeric = tuple(is_numeric(frame[name]) for name in frame.columns)
    headings = tuple(str(name).replace("_", " ") for name in frame.columns)
    bars = zip(*(frame[name].tolist() for name in bar or ()), strict=True)
    drawn = tuple(None if pd.isna(p) else (float(low), float(p), float(high)) for low, p, high in bars)
    return ReportTable(headings, numeric, tuple(zip(*columns, strict=True)), drawn)


def _cell(value: Any, decimals: int | None) -> str:
    if decimals is not None and isinstance(value, float) and value == value:
        return f"{value:,.{decimals}f}"
    return cell_text(value)


def _facts(context: ReportContext) -> dict[str, str]:
    """What a reader has to know first, by label."""
    facts, summary = context.provenance, context.summary
    batches = sum(batch["included"] for batch in facts["batches"].values())
    ruler = f"the published ranking ({summary['ruler_reason']})"
    return {
        "Corpus": f"{facts['corpus']['name']} ({facts['corpus']['data_class']})",
        "Reports": f"{summary['reports']:,} in {batches} {'batch' if batches == 1 else 'batches'}",
        "Findings": f"{summary['findings']:,} delivered rows; {summary['rows_out']:,} rows of Lunguage++",
        "Tentative findings": f"{summary['tentative_pairs']:,}",
        "Judges": "; ".join(_judge(key, facts["judges"].get(key)) for key in facts["members"]),
        "Hedging phrases": "ranked on this corpus" if context.has_own_ruler else ruler,
        "Ranking": facts["ranking"]["ranking_version"],
        "Anchors": f"{context.origin.anchors.name}: {context.origin.anchors.source}",
        "Rules": f"mode {summary['mode'] or 'none'}",
        "Options": _options(facts["as_published"]),
        "Merging": ", ".join(facts["encoders"]) or "none",
        "Software": f"{facts['software']['name']} {facts['software']['version']}",
    }


def _options(told: Mapping[str, Any]) -> str:
    """Whether the options are the paper's, and which are not."""
    other = ", ".join(f"{name} = {values['used']}" for name, values in told["other"].items())
    if not told["asked"]:
        return "this package's defaults or the home's own" + (f"; not the paper's: {other}" if other else "")
    return "as published" + (f", but for {other}" if other else "")


def _judge(key: str, bound: Any) -> str:
    """A judge with what its key stands for."""
    if not isinstance(bound, Mapping) or "model" not in bound:
        return f"{key} (rule-based)"
    return f"{key} ({bound['model']}, {bound['provider']})"


def _tables(context: ReportContext) -> dict[str, ReportTable]:
    """The tables that this release has, by name."""
    counted = context.counted
    certainty, expansion, figures = (
        counted.certainty,
        without_empty_published(counted.expansion),
        without_empty_published(counted.figures),
    )
    p = dict.fromkeys(("p_mean", "p_sd", "p_min", "p_max"), 3)
    found = {
        "ranking": _ranking(context),
        "fit": report_table(counted.fit),
        "certainty": report_table(certainty, p | _percents(certainty)),
        "expansion": report_table(expansion, _percents(expansion)),
        "conflicts": report_table(without_empty_published(counted.conflicts)),
        "figures": report_table(figures if figures["note"].any() else figures.drop(columns="note")),
    }
    if len(context.scale):
        decimals = dict.fromkeys(("mu", "p", "p_low", "p_high", "reader_low", "reader_high"), 2)
        shown = context.scale.drop(columns="number")
        found["scale"] = report_table(shown, decimals, ("p_low", "p", "p_high"))
    return found | _of_analyses(context)


def _ranking(context: ReportContext) -> ReportTable:
    own = context.has_own_ruler
    ranking = context.ranking.sort_values("rank", kind="stable")
    published = ranking["phrase"].map(published_places()).astype("float64")
    frame = ranking.assign(place=ranking["rank"] + 1, published_mu=published)
    measured = ["mu_low", "mu_high", "n_matches", "win_rate", "published_mu"] if own else []
    decimals = {"mu": 2, "mu_low": 2, "mu_high": 2, "win_rate": 3, "published_mu": 2}
    return report_table(frame[["place", "phrase", "mu", *measured]], decimals)


def without_empty_published(frame: pd.DataFrame) -> pd.DataFrame:
    """Without columns of published values that are all empty."""
    published = [str(name) for name in frame.columns if str(name).startswith("published")]
    return frame.drop(columns=[name for name in published if frame[name].isna().all()])


def _percents(frame: pd.DataFrame) -> dict[str, int]:
    return {str(name): 1 for name in frame.columns if str(name).startswith("percent_")}


def _of_analyses(context: ReportContext) -> dict[str, ReportTable]:
    """Agreement with the published values beside it, and what the reports say of the pathways."""
    made, found = context.analyses, {}
    judges, experts = made.get("judge_agreement"), made.get("expert_agreement")
    if judges is not None:
        beside = _beside(judges, "judges")
        found["judge_agreement"] = report_table(judges.assign(published=beside)[_AGREEMENT])
    if experts is not None and len(experts):
        beside = _beside(experts, "experts").where(experts["group"] == "all")
        shown = experts.assign(published=beside)[["group", "experts", *_AGREEMENT]]
        found["expert_agreement"] = report_table(shown)
    if (audit := made.get("pathway_audit")) is not None:
        mentioned = audit[audit["share"].notna()].drop(columns=["edge", "both", "place"])
        found["pathway_audit"] = report_table(mentioned, bar=("share_low", "share", "share_high"))
    return found


def _beside(frame: pd.DataFrame, of: str) -> pd.Series:
    """The published agreement `of` judges or experts for every row; NaN where none is printed."""
    published = {(*key,): value for *key, value in published_values()["agreement"][of]}
    keys = frame[["measure", "coding", "first", "second"]].itertuples(index=False, name=None)
    return pd.Series(map(published.get, keys), index=frame.index, dtype="float64")
