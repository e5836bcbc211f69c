"""The report of a release: the paper's tables and figures in one page that opens without a network; it looks
as `resources/release/report.html.j2` says.

Here is decided what stands in it. Every table and figure says how many cases are behind it, in which unit,
and which table it comes from. Nothing is computed again, and what was not run is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lunguage_assets.data_files import page_template
from lunguage_assets.documents import cell_text
from lunguage_assets.implicit.pathways.pathway_tree import Branch, pathway_tree
from lunguage_assets.release.bundle.material import Material
from lunguage_assets.release.bundle.provenance import ANSWER_COSTS
from lunguage_assets.release.report.agreement_tables import agreement_items
from lunguage_assets.release.report.documents import without_empty_published
from lunguage_assets.release.report.report_figures import (
    NOT_RUN,
    STALE,
    Figure,
    Missing,
    analysis_figures,
    conflict_figure,
    explicit_figures,
    published_places,
)
from lunguage_assets.release.report.report_tables import ReportTable, report_table
from lunguage_assets.release.report.scales import published_scales
from lunguage_assets.tables import AUDITED_LABELS, PATHWAY_AUDIT
from lunguage_assets.tables.paper import (
    CERTAINTY_TABLE,
    CONFLICT_TABLE,
    CORPUS_FIGURES,
    EXPANSION_TABLE,
    FIT_TABLE,
)
from lunguage_assets.tables.schema import Table


@dataclass(frozen=True)
class Tree:
    """What a diagnosis implies, as boxes inside each other: sharp at any size, and words that can be
    searched.
    """

    title: str
    caption: str
    source: str
    branch: Branch


Item = Figure | Missing | ReportTable | Tree


@dataclass(frozen=True)
class ReportSection:
    """A heading with its tables and figures."""

    anchor: str
    title: str
    introduction: str
    items: Sequence[Item]


def report_sections(material: Material) -> list[ReportSection]:
    """Everything between the head and the foot of the page, in reading order."""
    return [
        ReportSection(
            "explicit",
            "Hedging phrases and probabilities",
            "Judges compare sentences two by two: in which is the finding more certain? TrueSkill makes a "
            "ranking of the hedging phrases from their answers. Every tentative finding is then placed in "
            "that ranking by further comparisons, and two anchor phrases of known probability turn places "
            "into probabilities.",
            [
                *explicit_figures(material),
                _scale(material),
                _ranking(material),
                _fit(material),
                _certainty(material),
            ],
        ),
        ReportSection(
            "trust",
            "How far judges, ranking and fit can be trusted",
            "Analyses of the recorded comparisons; no judge was asked for them. Intervals and spreads say "
            "how stable the numbers are, not whether reports are right.",
            [*analysis_figures(material), *agreement_items(material)],
        ),
        ReportSection(
            "implicit",
            "What stated diagnoses imply",
            "A stated diagnosis is expanded with the sub-findings that expert pathways imply. Their "
            "probability is a bound that follows from the pathway, not an estimate.",
            [_expansion(material), *_audit(material)],
        ),
        ReportSection(
            "conflicts",
            "Contradictions and repetitions",
            "Rows about the same finding at the same place and time, found before resolution. Nothing of "
            "them is left in the result.",
            [conflict_figure(material), _conflicts(material)],
        ),
        ReportSection(
            "figures",
            "Figures of the corpus",
            "Counts that the paper prints in its text, on this corpus, each named for what it counts.",
            [_figures(material)],
        ),
        ReportSection(
            "pathways",
            "The pathways",
            "From the left: the diagnosis, the situation (wording of the finding, views of the study), what "
            "it implies there. An edge means that experts put the probability of the sub-finding, given the "
            "diagnosis, above 0.8. It is not the other direction, and no image was looked at.",
            list(_trees(material)),
        ),
        ReportSection(
            "costs",
            "What the answers cost",
            "Answers of language models that are in use, from the ledger when this version was written. "
            "Failed and repeated calls come on top.",
            [_costs(material)],
        ),
    ]


def report_page(material: Material, sections: Sequence[ReportSection]) -> str:
    """The page. Whatever it shows is escaped; it loads nothing, and no browser may let it load anything."""
    return page_template("release", "report.html.j2").render(
        material=material,
        facts=_facts(material),
        sections=sections,
        kind=lambda item: type(item).__name__,
        missing=[item.title for section in sections for item in section.items if isinstance(item, Missing)],
    )


def figures_of(sections: Iterable[ReportSection]) -> list[Figure]:
    return [item for section in sections for item in section.items if isinstance(item, Figure)]


def _facts(material: Material) -> list[tuple[str, str]]:
    """What a reader has to know first, label and value."""
    facts = material.provenance
    summary = material.summary
    software = facts["software"]
    batches = sum(batch["included"] for batch in facts["batches"].values())
    return [
        ("Corpus", f"{facts['corpus']['name']} ({facts['corpus']['data_class']})"),
        (
            "Reports",
            f"{summary['reports']:,} in {batches} {'batch' if batches == 1 else 'batches'}",
        ),
        (
            "Findings",
            f"{summary['findings']:,} delivered rows; {summary['rows_out']:,} rows of Lunguage++",
        ),
        ("Tentative findings", f"{summary['tentative_pairs']:,}"),
        ("Judges", "; ".join(_judge(key, facts["judges"].get(key)) for key in facts["members"])),
        (
            "Hedging phrases",
            "ranked on this corpus"
            if material.has_own_ruler
            else f"the published ranking ({summary['ruler_reason']})",
        ),
        ("Ranking", facts["ranking"]["ranking_version"]),
        ("Anchors", f"{material.origin.anchors.name}: {material.origin.anchors.source}"),
        ("Rules", f"mode {summary['mode'] or 'none'}"),
        ("Options", _options(facts["as_published"])),
        ("Merging", ", ".join(facts["encoders"]) or "none"),
        ("Software", f"{software['name']} {software['version']}"),
    ]


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


def _ranking(material: Material) -> ReportTable:
    ranking = material.ranking.sort_values("rank", kind="stable")
    measured = ["mu_low", "mu_high", "n_matches", "win_rate"] if material.has_own_ruler else []
    beside = ["published_mu"] if material.has_own_ruler else []
    published = ranking["phrase"].map(published_places()).astype("float64")
    frame = ranking.assign(place=ranking["rank"] + 1, published_mu=published)
    frame = frame[["place", "phrase", "mu", *measured, *beside]]
    told = (
        "with its 95% interval in TrueSkill points; win rate: share of its valid comparisons "
        "that a phrase won; published: in the paper's ranking, of another vocabulary"
        if measured
        else "in TrueSkill points, as published"
    )
    caption = f"From most to least certain. mu {told}. n = {len(frame)} phrases."
    return report_table(
        "The ranking",
        caption,
        "reference_ranking",
        frame,
        decimals={"mu": 2, "mu_low": 2, "mu_high": 2, "win_rate": 3, "published_mu": 2},
    )


def _scale(material: Material) -> Item:
    if material.scale.empty:
        return Missing("The probability scale", "Nothing to show: the anchors do not give a line.")
    spread = material.origin.anchors.spread
    sources = "; ".join(f"{scale.name}: {scale.source}" for scale in published_scales())
    caption = (
        f"p with the 95% interval of the mean, and the range in which another reader's p would lie 19 times "
        f"of 20 (between readers {spread.sd:.2f} logits, {spread.source}). Published, in hundredths: "
        f"{sources}. n = {int(material.scale['p'].notna().sum())} ranked phrases."
    )
    frame = material.scale.drop(columns="number")
    decimals = {"mu": 2, **dict.fromkeys(("p", "p_low", "p_high", "reader_low", "reader_high"), 2)}
    source, bar = "reference_ranking, anchors", ("p_low", "p", "p_high")
    return report_table("The probability scale", caption, source, frame, decimals, bar)


_COUNTED = {
    CERTAINTY_TABLE: (
        "Certainty by diagnosis",
        "lunguage_plus_plus, resolution_log, fitted_probabilities, pathway_matches",
    ),
    FIT_TABLE: ("Steps, rank, mu and p of the fits", "fitted_probabilities"),
    EXPANSION_TABLE: (
        "Structure and use of the pathways",
        "pathway_matches, resolution_log, lunguage_plus_plus",
    ),
    PATHWAY_AUDIT: ("Pathways against the reports", "pathway_audit"),
    AUDITED_LABELS: ("Implied labels with the measured shares", "audited_labels"),
    CONFLICT_TABLE: ("Conflicts by type and source", "conflicts, resolution_log"),
    CORPUS_FIGURES: (
        "Counts of the paper's text",
        "reports, accounting, pathway_matches, conflicts, resolution_log",
    ),
}
"""Heading of a table of counts, and what it was counted from."""


def _counted(
    table: Table,
    frame: pd.DataFrame,
    told: str,
    decimals: Mapping[str, int] | None = None,
    bar: tuple[str, str, str] | None = None,
) -> ReportTable:
    """A table of counts: what it holds, and in which units."""
    title, source = _COUNTED[table]
    return report_table(title, f"{table.description} {told}", source, frame, decimals, bar)


def _certainty(material: Material) -> ReportTable:
    frame = material.counted.certainty
    told = f"Rows; p from 0 to 1. n = {cell_text(frame['total'].iloc[-1])} stated current rows."
    decimals = dict.fromkeys(("p_mean", "p_sd", "p_min", "p_max"), 3)
    return _counted(CERTAINTY_TABLE, frame, told, decimals | _percent_decimals(frame))


def _fit(material: Material) -> ReportTable:
    return _counted(FIT_TABLE, material.counted.fit, "n: findings behind a line.")


def _expansion(material: Material) -> ReportTable:
    rows = material.summary["rows"]
    added = rows["rows_out"] - rows["originals_out"]
    told = f"Rows, but for the first four counts. n = {added:,} generated rows in the result."
    frame = without_empty_published(material.counted.expansion)
    return _counted(EXPANSION_TABLE, frame, told, _percent_decimals(frame))


def _percent_decimals(frame: pd.DataFrame) -> dict[str, int]:
    return {str(name): 1 for name in frame.columns if str(name).startswith("percent_")}


def _audit(material: Material) -> list[Item]:
    """What the reports themselves say of the pathways, and what the labels would be."""
    audit, labels = material.analyses.get("pathway_audit"), material.analyses.get("audited_labels")
    if audit is None or labels is None:
        return [Missing("Pathways against the reports", STALE if material.stale_analyses else NOT_RUN)]
    mentioned = audit[audit["share"].notna()]
    shares = mentioned.drop(columns=["edge", "both", "place"])
    told = (
        f"Studies; shares from 0 to 1 with Wilson's 95% interval. n = {len(mentioned)} of {len(audit)} edges "
        "with a share."
    )
    edges = _counted(PATHWAY_AUDIT, shares, told, bar=("share_low", "share", "share_high"))
    used = labels[labels["p"].notna()]
    told = f"Studies; mean p. n = {len(used)} labels."
    return [edges, _counted(AUDITED_LABELS, used, told)]


def _conflicts(material: Material) -> ReportTable:
    n = material.totals.conflicts.total()
    told = f"Groups of rows; merged and removed: rows. n = {n:,} groups."
    return _counted(CONFLICT_TABLE, without_empty_published(material.counted.conflicts), told)


def _figures(material: Material) -> ReportTable:
    frame = without_empty_published(material.counted.figures)
    frame = frame if (frame["note"] != "").any() else frame.drop(columns="note")
    told = f"Shares from 0 to 1. n = {material.summary['reports']:,} studies."
    return _counted(CORPUS_FIGURES, frame, told)


def _trees(material: Material) -> Iterable[Tree]:
    for statistics in material.dictionary.statistics():
        name, n = statistics.diagnosis, statistics.pathways
        spellings = f"{statistics.variants} {'spelling' if statistics.variants == 1 else 'spellings'}"
        caption = (
            f"{n} {'pathway' if n == 1 else 'pathways'}, {spellings}, depth {statistics.depth}, width "
            f"{statistics.width}."
        )
        yield Tree(name, caption, "open/pathways.yaml", pathway_tree(material.dictionary, name))


def _costs(material: Material) -> Item:
    costs = material.origin.costs
    if costs is None:
        return Missing("Costs", "There was no ledger, so nothing is known of costs.")
    if costs.empty:
        return Missing("Costs", "No language model was asked: the judges are rule-based.")
    caption = (
        f"{ANSWER_COSTS.description.partition('.')[0]}. US dollars at the judges file's prices; n "
        f"= {int(costs['answers'].sum()):,} answers."
    )
    return report_table("Costs by judge and stage", caption, "the ledger", costs, decimals={"cost_usd": 4})
