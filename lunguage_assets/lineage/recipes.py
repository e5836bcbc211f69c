"""Recipes: what every table is made of, declared once. Dagster's dependencies and partition mappings, the
record in every stored file, the answer to "is it current?" and the plan of a run are derived from them.
Nothing is read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lunguage_assets.tables import TABLES

BATCH = "report_batch"
STRUCTURER = "structurer"
RELEASE = "release"
RESULT = "lunguage_plus_plus"


@dataclass(frozen=True)
class Input:
    """A table that a step reads. Batch and ranker are the step's own; a step without batches reads them all.

    Args:
        judge: whose partition is read of a table by judge or structurer: the step's own, the extractor's (or
            the preset's structurer's), those of the ranker's members, all.
        on_request: another version of it makes nothing stale: new phrases do not renew the reference scale.
        optional: read when it is there.
        of_texts: read only of batches that were delivered as raw reports; others have no such table.
        by_panel: read only of batches that the judges have fitted, and no distilled model.
    """

    table: str
    judge: Literal["same", "extractor", "members", "all"] = "same"
    on_request: bool = False
    optional: bool = False
    of_texts: bool = False
    by_panel: bool = False


@dataclass(frozen=True)
class Recipe:
    """One asset: its own table, named as the asset, and the side tables made with it, for one partition.

    Args:
        tables: all by the same partition keys.
        inputs: tables that it reads.
        reads: what it reads besides, by the names that `InputFingerprints` knows.
        code: raised by one whenever the code of the step gives another result for the same inputs.
        asks_judges: whether making it may cost money.
        by_query: it reads the complete batches of its ranker by SQL, a part at a time; no table whole.
    """

    tables: tuple[str, ...]
    inputs: tuple[Input, ...] = ()
    reads: tuple[str, ...] = ()
    code: str = "1"
    asks_judges: bool = False
    by_query: bool = False

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Partition dimensions, in the order of the store's paths."""
        return dimensions_of(self.tables[0])


def _inputs(
    *tables: str, optional: bool = False, of_texts: bool = False
) -> tuple[Input, ...]:
    return tuple(Input(table, optional=optional, of_texts=of_texts) for table in tables)


SCORER = "scorer"
"""Among the `reads`: the distilled model by which a batch is fitted, or none."""
_VOCABULARY, _MATCHES = (
    Input("hedge_vocabulary", "extractor"),
    Input("comparison_matches", "members"),
)
_RESULT = (RESULT, "resolution_log", "conflicts", "accounting", "set_aside")
_ANALYSES = tuple(
    name for name, table in TABLES.items() if table.released == "analysis"
)
_LEARNT_FROM = (
    *(
        Input(table, by_panel=True)
        for table in ("findings", "fitted_probabilities", "fit_log")
    ),
    *(_MATCHES, Input("reference_ranking")),
)

RECIPES: Mapping[str, Recipe] = {
    "report_texts": Recipe(
        ("report_texts", "report_sentences", "rejected_reports", "reading_notes"),
        reads=("delivery", "text rules"),
        code="5",
    ),
    "structured_findings": Recipe(
        ("structured_findings", "sentence_accounts", "refused_values"),
        _inputs("report_texts", "report_sentences"),
        ("delivery", "structurer"),
        code="2",
        asks_judges=True,
    ),
    "findings": Recipe(
        ("findings", "reports", "rejected", "intake_notes", "terms"),
        _inputs(
            "report_texts",
            "rejected_reports",
            "reading_notes",
            "structured_findings",
            of_texts=True,
        ),
        ("delivery", "corpus settings", "terms"),
        code="4",
    ),
    "hedge_phrases": Recipe(
        ("hedge_phrases",),
        _inputs("findings"),
        ("corrections", "judge"),
        code="2",
        asks_judges=True,
    ),
    "hedge_vocabulary": Recipe(
        ("hedge_vocabulary",),
        (Input("hedge_phrases", on_request=True),),
        ("vocabulary settings", "judge"),
        code="2",
    ),
    "comparison_matches": Recipe(
        ("comparison_matches",),
        (_VOCABULARY,),
        ("comparison settings", "judge"),
        asks_judges=True,
    ),
    "reference_ranking": Recipe(
        ("reference_ranking",), (_VOCABULARY, _MATCHES), ("ranking settings",), code="5"
    ),
    "fitted_probabilities": Recipe(
        ("fitted_probabilities", "fit_log"),
        (
            *_inputs("findings", "reference_ranking"),
            Input("hedge_phrases", "extractor"),
            _VOCABULARY,
        ),
        ("fit settings", "anchors", "members", SCORER),
        code="4",
        asks_judges=True,
    ),
    "distilled_scorer": Recipe(("distilled_scorer",), _LEARNT_FROM),
    "distilled_evaluation": Recipe(
        ("distilled_evaluation",),
        (*_LEARNT_FROM, Input("distilled_scorer"), _VOCABULARY),
        ("anchors",),
    ),
    "deduplicated_findings": Recipe(
        ("deduplicated_findings",),
        _inputs("findings", "terms", "fitted_probabilities"),
        ("merge settings", "encoder", "blacklist", "statements", "labels"),
        code="7",
    ),
    "expansions": Recipe(
        ("expansions", "pathway_matches"),
        _inputs("terms", "deduplicated_findings"),
        ("pathways", "labels", "statements"),
        code="6",
    ),
    RESULT: Recipe(
        _RESULT,
        (
            *_inputs(
                "reports",
                "rejected",
                "terms",
                "reference_ranking",
                "fitted_probabilities",
            ),
            *_inputs("deduplicated_findings", "pathway_matches", "expansions"),
        ),
        ("pathways", "blacklist", "labels", "statements"),
        code="5",
    ),
    "structuring_agreement": Recipe(
        ("structuring_agreement", "cue_counts"),
        (Input("structured_findings", "all", optional=True),),
        ("corpus settings", "gold findings"),
    ),
    "judge_agreement": Recipe(
        ("judge_agreement", "ranking_correlations", "expert_agreement"),
        (_MATCHES, Input("reference_ranking")),
        ("comparison settings", "ranking settings", "expert responses"),
        code="4",
    ),
    "fit_validation": Recipe(
        ("fit_validation", "ranking_robustness"),
        (Input("reference_ranking"), _MATCHES),
        ("comparison settings", "ranking settings", "fit settings"),
        code="3",
    ),
    "pathway_audit": Recipe(
        ("pathway_audit",),
        _inputs(
            "terms",
            "reports",
            "pathway_matches",
            "lunguage_plus_plus",
            "resolution_log",
        ),
        ("pathways", "labels", "statements"),
        code="4",
        by_query=True,
    ),
    RELEASE: Recipe(
        (RELEASE,),
        (
            *_inputs(
                "reference_ranking",
                "reports",
                "rejected",
                "fitted_probabilities",
                "pathway_matches",
            ),
            *_inputs(*_RESULT),
            *_inputs(*_ANALYSES, optional=True),
        ),
        ("labels", "statements", "release settings"),
        code="12",
        by_query=True,
    ),
}
"""Step, named as the asset that it makes -> recipe, upstream first."""

STEP_OF: Mapping[str, str] = {
    table: step for step, recipe in RECIPES.items() for table in recipe.tables
}
"""Table -> the asset that it is, or is made with."""


def dimensions_of(table: str) -> tuple[str, ...]:
    """Partition dimensions of a table, or of the release."""
    return ("ranker",) if table == RELEASE else TABLES[table].partitioned_by


STEPS_OF_JOB: dict[str, tuple[str, ...]] = {
    "read_reports": ("report_texts",),
    "structure": ("structured_findings",),
    "ingest": ("findings",),
    "extract_hedges": ("hedge_phrases",),
    "build_vocabulary": ("hedge_vocabulary",),
    "compare": ("comparison_matches",),
    "rank": ("reference_ranking",),
    "fit": ("fitted_probabilities",),
    "distill": ("distilled_scorer", "distilled_evaluation"),
    "expand": ("deduplicated_findings", "expansions", RESULT),
    "refit": ("fitted_probabilities", "deduplicated_findings", "expansions", RESULT),
    "analyse_structuring": ("structuring_agreement",),
    "analyse": ("judge_agreement", "fit_validation", "pathway_audit"),
    "release": (RELEASE,),
}
"""Job -> assets that it makes, upstream first; all of a job share their partitions."""

REBUILT = ("build_vocabulary", "compare", "rank")
"""Jobs that make the reference scale: on request again although it is current."""


def not_there(table: str, keys: Sequence[str]) -> str:
    """The message about a table that a step reads and nobody has made."""
    job = next(job for job, steps in STEPS_OF_JOB.items() if STEP_OF[table] in steps)
    return f"{table} ({', '.join(keys)}) is not there. Launch the job `{job}` for it first."
