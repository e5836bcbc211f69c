"""Recipes: what every table is made of, declared once.

Dagster's dependencies and partition mappings, the record in every stored file, the
answer to "is it current?" and the plan of a run are derived from them. Nothing is read
here.

Not here: the facts about a table itself, such as its partitions (`tables/`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lunguage_assets.tables import TABLES

BATCH = "report_batch"
STRUCTURER = "structurer"
RELEASE = "release"
"""The step that writes the release of a ranker; it makes files, and no stored table."""
RESULT = "lunguage_plus_plus"
SCORER = "scorer"
"""Among a recipe's `reads`: the distilled model by which a batch is fitted, or none."""


@dataclass(frozen=True)
class Input:
    """A table that a step reads.

    Batch and ranker are those of the step's own partition; a step without batches reads
    the partitions of all.

    Attributes:
        table: its name.
        judge: whose partition is read of a table by judge or structurer: the step's
            own, the extractor's (or the preset's structurer's), those of the ranker's
            members, all.
        on_request: another version of it makes nothing stale: new phrases do not renew
            the reference scale, which would ask every judge again.
        optional: read when it is there.
        of_texts: read only of batches that were delivered as raw reports; others have
            no such table.
        by_panel: read only of batches that the judges have fitted, and no distilled
            model.
        columns: those that the step needs; empty: all. A step that reads every batch
            names them: what it holds grows with the corpus.
    """

    table: str
    judge: Literal["same", "extractor", "members", "all"] = "same"
    on_request: bool = False
    optional: bool = False
    of_texts: bool = False
    by_panel: bool = False
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """How a step makes its tables for one partition.

    Attributes:
        tables: the step's own, named as the asset, then side tables that are made with
            it; all are partitioned alike.
        inputs: tables that it reads.
        reads: what it reads besides, by the names that `InputFingerprints` knows.
        code: raised by one whenever the code of the step gives another result for the
            same inputs.
        asks_judges: whether making it may cost money.
        by_query: it reads the complete batches of its ranker by SQL, a part at a time;
            no table whole.
    """

    tables: tuple[str, ...]
    inputs: tuple[Input, ...] = ()
    reads: tuple[str, ...] = ()
    code: str = "1"
    asks_judges: bool = False
    by_query: bool = False

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Partition dimensions, in the order of `Table.partitioned_by`."""
        return dimensions_of(self.tables[0])


_FROM_VOCABULARY = Input("hedge_vocabulary", judge="extractor")
_OF_VOCABULARY = (
    "study_id",
    "finding_id",
    "phrases",
    "masked_sentence",
    "review_reason",
)
_FROM_COMPARISONS = Input("comparison_matches", judge="members")
_FROM_RANKING = Input("reference_ranking")
_ANALYSES = tuple(
    Input(name, optional=True)
    for name, table in TABLES.items()
    if table.released == "analysis"
)

RECIPES: Mapping[str, Recipe] = {
    "report_texts": Recipe(
        tables=(
            "report_texts",
            "report_sentences",
            "rejected_reports",
            "reading_notes",
        ),
        reads=("delivery", "text rules"),
        code="5",
    ),
    "structured_findings": Recipe(
        tables=("structured_findings", "sentence_accounts", "refused_values"),
        inputs=(Input("report_texts"), Input("report_sentences")),
        reads=("delivery", "structurer"),
        code="2",
        asks_judges=True,
    ),
    "findings": Recipe(
        tables=("findings", "reports", "rejected", "intake_notes", "terms"),
        inputs=(
            Input("report_texts", of_texts=True),
            Input("rejected_reports", of_texts=True),
            Input("reading_notes", of_texts=True),
            Input("structured_findings", of_texts=True),
        ),
        reads=("delivery", "corpus settings", "terms"),
        code="4",
    ),
    "hedge_phrases": Recipe(
        tables=("hedge_phrases",),
        inputs=(Input("findings"),),
        reads=("corrections", "judge"),
        code="2",
        asks_judges=True,
    ),
    "hedge_vocabulary": Recipe(
        tables=("hedge_vocabulary",),
        inputs=(Input("hedge_phrases", on_request=True, columns=_OF_VOCABULARY),),
        reads=("vocabulary settings", "judge"),
        code="2",
    ),
    "comparison_matches": Recipe(
        tables=("comparison_matches",),
        inputs=(_FROM_VOCABULARY,),
        reads=("comparison settings", "judge"),
        asks_judges=True,
    ),
    "reference_ranking": Recipe(
        tables=("reference_ranking",),
        inputs=(_FROM_VOCABULARY, _FROM_COMPARISONS),
        reads=("ranking settings",),
        code="5",
    ),
    "fitted_probabilities": Recipe(
        tables=("fitted_probabilities", "fit_log"),
        inputs=(
            Input("findings"),
            _FROM_RANKING,
            Input("hedge_phrases", judge="extractor"),
            _FROM_VOCABULARY,
        ),
        reads=("fit settings", "anchors", "members", SCORER),
        code="4",
        asks_judges=True,
    ),
    # It learns from what judges said, never from what such a model scored.
    "distilled_scorer": Recipe(
        tables=("distilled_scorer",),
        inputs=(
            Input("findings", by_panel=True),
            Input("fitted_probabilities", by_panel=True),
            Input("fit_log", by_panel=True),
            _FROM_RANKING,
            _FROM_VOCABULARY,
        ),
    ),
    "deduplicated_findings": Recipe(
        tables=("deduplicated_findings",),
        inputs=(Input("findings"), Input("terms"), Input("fitted_probabilities")),
        reads=("merge settings", "encoder", "blacklist", "statements", "labels"),
        code="7",
    ),
    "expansions": Recipe(
        tables=("expansions", "pathway_matches"),
        inputs=(Input("terms"), Input("deduplicated_findings")),
        reads=("pathways", "labels", "statements"),
        code="6",
    ),
    RESULT: Recipe(
        tables=(RESULT, "resolution_log", "conflicts", "accounting", "set_aside"),
        inputs=(
            Input("reports"),
            Input("rejected"),
            Input("terms"),
            _FROM_RANKING,
            Input("fitted_probabilities"),
            Input("deduplicated_findings"),
            Input("pathway_matches"),
            Input("expansions"),
        ),
        reads=("pathways", "blacklist", "labels", "statements"),
        code="5",
    ),
    "structuring_agreement": Recipe(
        tables=("structuring_agreement",),
        inputs=(Input("structured_findings", judge="all", optional=True),),
        reads=("corpus settings", "gold findings"),
    ),
    "judge_agreement": Recipe(
        tables=("judge_agreement", "ranking_correlations", "expert_agreement"),
        inputs=(_FROM_COMPARISONS, _FROM_RANKING),
        reads=("comparison settings", "ranking settings", "expert responses"),
        code="4",
    ),
    "fit_validation": Recipe(
        tables=("fit_validation", "ranking_robustness"),
        inputs=(_FROM_RANKING, _FROM_COMPARISONS),
        reads=("comparison settings", "ranking settings", "fit settings"),
        code="3",
    ),
    RELEASE: Recipe(
        tables=(RELEASE,),
        inputs=(
            _FROM_RANKING,
            Input("reports"),
            Input("rejected"),
            Input("fitted_probabilities"),
            Input("pathway_matches"),
            Input(RESULT),
            Input("resolution_log"),
            Input("conflicts"),
            Input("accounting"),
            Input("set_aside"),
            *_ANALYSES,
        ),
        reads=("labels", "statements", "release settings"),
        code="13",
        by_query=True,
    ),
}
"""Step, named as the asset that it makes -> recipe, upstream first."""

STEP_OF: Mapping[str, str] = {
    table: step for step, recipe in RECIPES.items() for table in recipe.tables
}
"""Table -> the asset that it is, or is made with."""


def dimensions_of(table: str) -> tuple[str, ...]:
    """Find the partition dimensions of a table, or of the release."""
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
    "distill": ("distilled_scorer",),
    "expand": ("deduplicated_findings", "expansions", RESULT),
    "refit": ("fitted_probabilities", "deduplicated_findings", "expansions", RESULT),
    "analyse_structuring": ("structuring_agreement",),
    "analyse": ("judge_agreement", "fit_validation"),
    "release": (RELEASE,),
}
"""Job -> assets that it makes, upstream first; all of a job share their partitions."""

REBUILT = ("build_vocabulary", "compare", "rank")
"""Jobs that make the reference scale: on request again although it is current."""


def not_there(table: str, keys: Sequence[str]) -> str:
    """Write the message about a table that a step reads and nobody has made."""
    job = next(job for job, steps in STEPS_OF_JOB.items() if STEP_OF[table] in steps)
    partition = f"{table} ({', '.join(keys)})"
    return f"{partition} is not there. Launch the job `{job}` for it first."
