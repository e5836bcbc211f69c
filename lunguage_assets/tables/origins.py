"""The origin of every column of every table: unchanged, computed, or new.

One declaration per table, in terms of the tables that its producer reads. The column lineage of the UI is
derived from it; what the columns mean is in their schemas. Only what decides a value is named, not what
decides whether the row exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lunguage_assets.tables import RELEASE, TABLES
from lunguage_assets.tables.columns import ATTRIBUTES
from lunguage_assets.tables.schema import Table

Source = tuple[str, str]
"""Table and column."""

ALL = "*"
LISTED = 6
"""Up to this many columns of one table are named in words."""


@dataclass(frozen=True)
class Origin:
    """Names of columns are separated by spaces; `*` stands for all columns of the table.

    `passes`: table -> columns whose values are taken over. `changes`: table -> columns that keep their name
        and are changed on the way. `computed`: columns -> what they are computed from, each written 'table:
        columns'. `new`: columns that come from no table -> what they come from. A column may be in several of
        the first three.
    """

    passes: Mapping[str, str] = field(default_factory=dict)
    changes: Mapping[str, str] = field(default_factory=dict)
    computed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    new: Mapping[str, str] = field(default_factory=dict)


_DELIVERED = Origin(new={ALL: "read from the delivered files"})
_ATTRIBUTES = " ".join(ATTRIBUTES)
_CLAIMED = "prob p_low p_high support"
_OF_THE_STUDY = "subject_id study_id sequence section sent_idx ent_idx currency view_information"
_KEY_OF_A_CLAIM = "currency name location_parts"
_SETTINGS = "the settings"

_PLAYED = "comparison_matches: match_id phrase_a phrase_b answer winner"
_PLACED = (
    "findings: masked_sentence",
    "hedge_vocabulary: example_sentences",
    "reference_ranking: phrase mu sigma",
)
_ANSWERED = (
    "comparison_matches: phrase_a phrase_b sentence_a sentence_b swapped answer winner",
    "hedge_phrases: phrases",
)
_CONTESTED = ("deduplicated_findings: finding_id", "expansions: finding_id")
_WORDED = f"ent name location location_parts {_ATTRIBUTES}"

ORIGINS: dict[str, Origin] = {
    "reports": _DELIVERED,
    "findings": _DELIVERED,
    "rejected": _DELIVERED,
    "intake_notes": _DELIVERED,
    "terms": _DELIVERED,
    "hedge_phrases": Origin(
        passes={"findings": "finding_id study_id ent sent masked_sentence"},
        computed={
            "phrases dropped": ("findings: ent sent masked_sentence measurement severity onset",),
            "answer_state": ("findings: ent sent masked_sentence",),
            "needs_review review_reason": (
                "findings: ent sent masked_sentence mask_state same_name_in_sentence",
            ),
        },
        new={"corrected": "corrections.csv in the home"},
    ),
    "hedge_vocabulary": Origin(
        computed={
            "phrase n_examples ruler": ("hedge_phrases: phrases",),
            "retained reason": ("hedge_phrases: phrases masked_sentence review_reason",),
            "example_ids": ("hedge_phrases: finding_id",),
            "example_sentences": ("hedge_phrases: masked_sentence",),
            "vocabulary_version": ("hedge_phrases: phrases finding_id masked_sentence",),
        },
    ),
    "comparison_matches": Origin(
        passes={"hedge_vocabulary": "vocabulary_version"},
        computed={
            "match_id phrase_a phrase_b swapped": ("hedge_vocabulary: phrase",),
            "sentence_a sentence_b": ("hedge_vocabulary: example_sentences",),
            "answer": ("hedge_vocabulary: example_sentences",),
            "winner": ("hedge_vocabulary: phrase example_sentences",),
        },
        new={"repetition": _SETTINGS},
    ),
    "reference_ranking": Origin(
        passes={"hedge_vocabulary": "phrase ruler vocabulary_version"},
        computed={
            "rank mu sigma mu_order_free sd_order_free n_matches win_rate": (_PLAYED,),
            "mu_sd mu_low mu_high rank_low rank_high": (_PLAYED, "comparison_matches: sentence_a sentence_b"),
            "ranking_version": (_PLAYED, "hedge_vocabulary: vocabulary_version"),
        },
        new={"judges": "the judges file"},
    ),
    "fitted_probabilities": Origin(
        passes={
            "findings": "finding_id study_id same_name_in_sentence",
            "hedge_phrases": "phrases",
            "reference_ranking": "ruler ranking_version",
        },
        computed={
            "sentence_key": ("findings: masked_sentence",),
            "mu sigma rank steps answers invalid_answers stop mu_centre mu_sd": _PLACED,
            "p p_low p_high p_source": (*_PLACED, "hedge_phrases: phrases"),
        },
        new={"fit": _SETTINGS},
    ),
    "fit_log": Origin(
        computed={
            "sentence_key": ("findings: masked_sentence",),
            "opponent": ("reference_ranking: phrase",),
            "step round draw_probability answers mu sigma rank": _PLACED,
        },
    ),
    "judge_agreement": Origin(
        computed={"value low high p_value n left_out reasons": _ANSWERED},
        new={"measure coding": "the list of measures", "first second": "the judges file"},
    ),
    "ranking_correlations": Origin(
        computed={
            "spearman": (_PLAYED, "reference_ranking: phrase mu n_matches"),
            "n_phrases": ("comparison_matches: phrase_a phrase_b", "reference_ranking: phrase n_matches"),
        },
        new={"first second": "the judges file", "first_order second_order": _SETTINGS},
    ),
    "ranking_robustness": Origin(
        passes={"reference_ranking": "ranking_version"},
        computed={
            "comparisons answers": ("comparison_matches: repetition answer",),
            "mean_abs_mu largest_abs_mu mean_abs_rank spearman": (
                _PLAYED,
                "comparison_matches: repetition",
                "reference_ranking: mu rank",
            ),
        },
        new={"repeat": "the number of random choices"},
    ),
    "fit_validation": Origin(
        passes={"reference_ranking": "ranking_version"},
        computed={
            "step mean_distance sd_distance sd_between_seeds "
            "mean_distance_stopped stopped_share playing unfitted": (
                "comparison_matches: phrase_a phrase_b repetition answer winner",
                "reference_ranking: phrase mu sigma rank",
            ),
            "judges": ("reference_ranking: judges",),
            "phrases": ("reference_ranking: phrase",),
        },
        new={"strategy opponent_limit panel_steps seeds": "the list of strategies and the settings"},
    ),
    "expert_agreement": Origin(
        computed={
            "value low high n left_out reasons": (
                "comparison_matches: phrase_a phrase_b answer winner",
                "reference_ranking: phrase mu",
            )
        },
        new={"measure coding": "the list of measures", "group first second": "the imported survey"},
    ),
    "deduplicated_findings": Origin(
        passes={"findings": f"finding_id {_OF_THE_STUDY} sent ent name cat status location location_parts"},
        changes={"findings": f"{_ATTRIBUTES} evidence associate"},
        computed={
            "prob": ("findings: status", "fitted_probabilities: p"),
            "p_low": ("findings: status", "fitted_probabilities: p_low"),
            "p_high": ("findings: status", "fitted_probabilities: p_high"),
            "support": ("findings: status", "fitted_probabilities: p"),
            "p_source": ("findings: status", "fitted_probabilities: p_source"),
            "disposition merged_into merged_ids": (
                f"findings: finding_id section status currency {_WORDED}",
                "fitted_probabilities: p",
                "terms: target_term normed_term category",
            ),
            "merge_similarity": (f"findings: {_WORDED}", "terms: target_term normed_term category"),
        },
        new={"prob_is_bound": "false for every stated finding", "encoder mode": _SETTINGS},
    ),
    "pathway_matches": Origin(
        passes={"deduplicated_findings": "study_id"},
        computed={
            "finding_id": ("deduplicated_findings: finding_id",),
            "name": ("deduplicated_findings: name",),
            "diagnosis": ("deduplicated_findings: name ent location location_parts",),
            "refinements": (f"deduplicated_findings: {_WORDED}",),
            "pathway_id pathway reason": (
                f"deduplicated_findings: {_WORDED} status currency view_information disposition p_source",
            ),
            "generated": ("deduplicated_findings: finding_id",),
        },
    ),
    "expansions": Origin(
        passes={"deduplicated_findings": _OF_THE_STUDY},
        changes={"deduplicated_findings": f"status location location_parts {_ATTRIBUTES}"},
        computed={
            "finding_id parent_id root_id": ("deduplicated_findings: finding_id",),
            "ent name cat parent_pathway_id edge depth": (
                "deduplicated_findings: name ent location_parts view_information",
            ),
            "location location_parts": ("terms: target_term normed_term category",),
            "associate": ("deduplicated_findings: finding_id",),
            "prob support": ("deduplicated_findings: support",),
            "p_low": ("deduplicated_findings: p_low support",),
            "p_high": ("deduplicated_findings: p_high support",),
            "outcome linked_to": (
                "deduplicated_findings: finding_id name status currency location_parts measurement",
            ),
        },
        new={
            "sent evidence": "empty in generated rows",
            "p_source": "'pathway' in generated rows",
            "prob_is_bound": "true for every generated row",
        },
    ),
    "conflicts": Origin(
        passes={
            "deduplicated_findings": f"study_id {_KEY_OF_A_CLAIM}",
            "expansions": f"study_id {_KEY_OF_A_CLAIM}",
        },
        computed={
            "conflict_type": ("deduplicated_findings: status", "expansions: status"),
            "source finding_ids": _CONTESTED,
            "suppressed": ("expansions: outcome",),
        },
        new={"number": "the order of the list"},
    ),
    "resolution_log": Origin(
        passes={
            "deduplicated_findings": "study_id finding_id name status location_parts",
            "expansions": "study_id finding_id name status location_parts",
        },
        computed={
            "event stage rule": (
                "deduplicated_findings: disposition status support",
                "expansions: outcome status support parent_id",
            ),
            "conflict_type": ("deduplicated_findings: status", "expansions: status"),
            "source": _CONTESTED,
            "survivor_id": (
                "deduplicated_findings: finding_id merged_into",
                "expansions: finding_id linked_to",
            ),
            "support": ("deduplicated_findings: support", "expansions: support"),
            "reference": ("deduplicated_findings: evidence associate", "expansions: associate"),
        },
        new={"number": "the order of the log"},
    ),
    "lunguage_plus_plus": Origin(
        passes={
            "deduplicated_findings": (
                f"finding_id {_OF_THE_STUDY} sent ent name cat status "
                "location location_parts p_source prob_is_bound encoder mode"
            ),
            "expansions": (
                f"finding_id {_OF_THE_STUDY} sent ent name cat status "
                "location location_parts p_source prob_is_bound"
            ),
            "pathway_matches": "pathway_id pathway",
            "fitted_probabilities": "ranking_version",
            "reference_ranking": "ranking_version",
        },
        changes={
            "deduplicated_findings": f"{_ATTRIBUTES} {_CLAIMED} evidence associate merged_ids",
            "expansions": f"{_ATTRIBUTES} {_CLAIMED} associate parent_id root_id",
        },
        computed={
            "idx": ("deduplicated_findings: section sent_idx ent_idx", "expansions: parent_id edge"),
            "evidence": ("expansions: finding_id linked_to parent_id",),
            "source": _CONTESTED,
            "root_id": ("deduplicated_findings: finding_id",),
            "match_reason": ("pathway_matches: reason",),
            "merged_ids": _CONTESTED,
        },
    ),
    "accounting": Origin(
        computed={
            "study_id": ("reports: study_id", "rejected: study_id"),
            "rows_in": ("reports: rows_delivered", "rejected: study_id"),
            "rejected": ("rejected: study_id",),
            "excluded": ("deduplicated_findings: disposition",),
            "merged": ("deduplicated_findings: disposition status support", "expansions: status support"),
            "originals_out removed": (
                "deduplicated_findings: disposition status support",
                "expansions: status support",
            ),
            "generated already_stated": ("expansions: outcome",),
            "discarded rows_out balanced": (
                "deduplicated_findings: disposition status support",
                "expansions: outcome status support parent_id",
            ),
        },
    ),
    "release": Origin(
        passes={"lunguage_plus_plus": ALL, "reference_ranking": "judges ruler"},
        new={"report_batch ranker": "the partition"},
    ),
}
"""Asset -> the origins of its columns."""


def described(name: str) -> Table:
    """The schema of a stored table, or of the released Parquet."""
    return RELEASE if name == RELEASE.name else TABLES[name]


def sources(name: str) -> dict[str, tuple[Source, ...]]:
    """The columns of a table that come from columns of other tables, with those.

    Columns are in schema order, sources in the order declared.
    """
    origin = ORIGINS[name]
    found: dict[str, dict[Source, None]] = {}
    for table, columns in (*origin.passes.items(), *origin.changes.items()):
        for column in _named(columns, table):
            found.setdefault(column, {})[table, column] = None
    for columns, written in origin.computed.items():
        listed = [pair for text in written for pair in _written(text)]
        for column in _named(columns, name):
            found.setdefault(column, {}).update(dict.fromkeys(listed))
    return {column: tuple(found[column]) for column in described(name).names if column in found}


def taken_over(name: str) -> dict[str, tuple[Source, ...]]:
    """The columns of a table that hold only values of the same column elsewhere, with its places."""
    origin = ORIGINS[name]
    not_only = {
        column for columns in (*origin.changes.values(), *origin.computed) for column in _named(columns, name)
    }
    found: dict[str, tuple[Source, ...]] = {}
    for table, columns in origin.passes.items():
        for column in _named(columns, table):
            if column not in not_only:
                found[column] = (*found.get(column, ()), (table, column))
    return found


def made_here(name: str) -> dict[str, str]:
    """The columns of a table that come from no other table, with their origin."""
    return {column: why for columns, why in ORIGINS[name].new.items() for column in _named(columns, name)}


def _named(columns: str, table: str) -> list[str]:
    return described(table).names if columns == ALL else columns.split()


def _written(text: str) -> list[Source]:
    table, columns = text.split(": ")
    return [(table, column) for column in columns.split()]


def explained(name: str) -> dict[str, str]:
    """The origin of each column of a table in a few words.

    Empty for tables that are read from the delivered files.
    """
    if ALL in ORIGINS[name].new:
        return {}
    unchanged, new, found = taken_over(name), made_here(name), sources(name)
    words = {}
    for column in described(name).names:
        if column in unchanged:
            words[column] = "As in " + " and ".join(table for table, _ in unchanged[column]) + "."
        elif column in new:
            words[column] = f"Made here: {new[column]}."
        else:
            words[column] = "From " + "; ".join(_grouped(found[column])) + "."
    return words


def _grouped(listed: tuple[Source, ...]) -> list[str]:
    """Sources table by table; many columns of one table are counted, not listed."""
    by_table: dict[str, list[str]] = {}
    for table, column in listed:
        by_table.setdefault(table, []).append(column)
    return [
        f"{table}: {', '.join(names) if len(names) <= LISTED else f'{len(names)} columns'}"
        for table, names in by_table.items()
    ]
