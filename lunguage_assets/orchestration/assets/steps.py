"""What assets share: reading inputs, leaving out invalid studies, returning tables.

Dagster draws the inputs (`deps`) and hands none over. Which partitions a step reads,
and whether they are current, `lineage.staleness` says: Dagster looks at no dependency
of a partition that has a hundred or more upstream partitions, and the vocabulary and
the releases have that many (docs/architecture.md).

What an asset does is not here, but in the module of its group.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import MethodError
from lunguage_assets.lineage.recipes import BATCH, RECIPES, dimensions_of
from lunguage_assets.lineage.staleness import Keys, StalenessChecker
from lunguage_assets.orchestration.assets.edited_files import files_read
from lunguage_assets.orchestration.io_manager import stored_table
from lunguage_assets.orchestration.metadata import counts
from lunguage_assets.orchestration.partitions import Partitions, store_keys
from lunguage_assets.quality import rules
from lunguage_assets.quality.rules import InvalidStudy, studies_of
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import (
    SET_ASIDE,
    VERSION,
    EncodedTable,
    encode,
    partition_path,
)
from lunguage_assets.workspace.table_record import Lineage, fingerprint

Frames = Mapping[Keys, pd.DataFrame]
"""Partitions of a table, by their keys in the order of the store."""

Tables = Mapping[str, pd.DataFrame]
"""The table of a step and its side tables, by name."""

if TYPE_CHECKING:
    Result = dg.MaterializeResult[Sequence[EncodedTable]]
else:
    # Dagster refuses one with a type argument where an asset has checks.
    Result = dg.MaterializeResult

ConditionOf = Callable[[str], "dg.AutomationCondition[dg.AssetKey]"]
"""Says when the sensor requests a step: `automation.step_condition` for a home."""


@dataclass(frozen=True)
class StepInputs:
    """What a step reads to make one partition.

    Args:
        step: named as its asset.
        keys: of the partition, in the order of the store.
        tables: inputs of which one partition is read.
        partitions: inputs of which several partitions are read.
        versions: of every partition that was read. None: the step queries the files
            itself, a part at a time.
        made_of: what the tables will have been made of.
        invalid_studies: studies that broke a rule, before or in this step; `tables`
            has none of their rows.
    """

    step: str
    keys: Keys
    tables: Mapping[str, pd.DataFrame]
    partitions: Mapping[str, Frames]
    versions: Mapping[tuple[str, Keys], str] | None
    made_of: Lineage
    invalid_studies: Sequence[InvalidStudy] = field(default=())

    def without(self, invalid_studies: Sequence[InvalidStudy]) -> "StepInputs":
        """Return the inputs without the rows of these studies."""
        tables = rules.without_studies(self.tables, studies_of(invalid_studies))
        return replace(self, tables=tables, invalid_studies=invalid_studies)


def step_deps(step: str, partitions: Partitions) -> list[str | dg.AssetDep]:
    """Return the assets and the edited files that a step reads, for `deps`."""
    return [*partitions.deps(step), *files_read(RECIPES[step].reads)]


def read_inputs(
    context: dg.AssetExecutionContext, configuration: Configuration
) -> StepInputs:
    """Read what the step of a running asset needs.

    Raises:
        MethodError: an input is not there; the message says what to launch.
    """
    step = context.asset_key.path[-1]
    keys = store_keys(context.partition_key, RECIPES[step].dimensions)
    staleness = configuration.staleness()
    # Over all batches there may be more rows than fit into memory.
    if RECIPES[step].by_query:
        made_of = staleness.made_of(step, keys)
        return StepInputs(step, keys, {}, {}, None, made_of)
    frames = read_partitions(staleness, step, keys, StoredTables(staleness.home))
    # The versions of the rows that were read: files may be replaced meanwhile.
    versions = {
        partition: str(frame.attrs[VERSION]) for partition, frame in frames.items()
    }
    made_of = staleness.made_of(step, keys, versions)
    return step_inputs(step, keys, frames, made_of, versions)


class StoredTables:
    """The tables of a home, read a partition at a time."""

    def __init__(self, home: Home) -> None:
        self._root = home.tables

    def exists(self, table: str, keys: Keys) -> bool:
        """Tell whether a partition is there."""
        return partition_path(self._root, table, *keys).exists()

    def read(self, table: str, keys: Keys) -> pd.DataFrame:
        """Read a partition; raises as `io_manager.stored_table`."""
        return stored_table(self._root, table, keys)


PartitionFrames = Mapping[tuple[str, Keys], pd.DataFrame]
"""Table and keys of a partition -> its rows."""


def read_partitions(
    staleness: StalenessChecker, step: str, keys: Keys, tables: StoredTables
) -> PartitionFrames:
    """Read every partition that a step reads to make one of its own.

    Args:
        staleness: says which partitions those are.
        step: that is made.
        keys: of its partition, in the order of the store.
        tables: from which they are read.
    """
    frames = {}
    for step_input, input_keys in staleness.inputs(step, keys):
        table = step_input.table
        if step_input.on_request and not tables.exists(table, input_keys):
            continue
        frame = tables.read(table, input_keys)
        # Of all batches together only what is needed is kept in memory.
        if step_input.columns:
            frame = frame[list(step_input.columns)]
        frames[table, input_keys] = frame
    return frames


def step_inputs(
    step: str,
    keys: Keys,
    frames: PartitionFrames,
    made_of: Lineage,
    versions: Mapping[tuple[str, Keys], str] | None = None,
) -> StepInputs:
    """Return what a step works on, from the partitions that were read for it.

    Args:
        step: that is made.
        keys: of its partition, in the order of the store.
        frames: the partitions.
        made_of: what the tables will have been made of.
        versions: of the partitions; None: they are not those of the store.
    """
    has_batches = BATCH in RECIPES[step].dimensions
    # All batches of a table, or several judges, are read; there may be none yet.
    partitions: dict[str, dict[Keys, pd.DataFrame]] = {
        step_input.table: {}
        for step_input in RECIPES[step].inputs
        if step_input.judge in ("members", "all")
        or (BATCH in dimensions_of(step_input.table) and not has_batches)
    }
    tables = {}
    for (table, input_keys), frame in frames.items():
        if table in partitions:
            partitions[table][input_keys] = frame
        else:
            tables[table] = frame
    return StepInputs(step, keys, tables, partitions, versions, made_of)


def compute_valid_studies(
    configuration: Configuration,
    inputs: StepInputs,
    compute: Callable[[StepInputs], Tables],
) -> tuple[StepInputs, Tables]:
    """Compute a step's tables, and again without the studies that break a rule.

    Args:
        configuration: says whether any study may break a rule.
        inputs: as they were read.
        compute: makes the tables of inputs.

    Returns:
        The inputs without the invalid studies, and the tables that they give.

    Raises:
        InvalidTable: too many studies break a rule, or one still does without its rows.
    """
    reports = inputs.tables.get("reports")
    delivered = [] if reports is None else reports["study_id"].tolist()
    valid = inputs.without(_invalid_upstream(inputs))
    while True:
        tables = compute(valid)
        broken = rules.broken_studies(
            inputs.step, tables, delivered, configuration.processes
        )
        if not broken:
            return valid, tables
        before = valid.invalid_studies
        invalid_studies = sorted({*before, *broken})
        studies_by_table = [
            frame["study_id"].nunique()
            for frame in (*inputs.tables.values(), *tables.values())
            if "study_id" in frame
        ]
        # A study that breaks a rule although its rows were left out is a fault of the
        # step, and no better without the study.
        breaks_again = studies_of(broken) <= studies_of(before)
        rules.require_few(
            broken,
            invalid_studies,
            max(studies_by_table),
            strict=configuration.is_strict or breaks_again,
        )
        # Without these studies the others may come out differently (words are counted
        # over a batch): everything is computed again.
        valid = inputs.without(invalid_studies)


def _invalid_upstream(inputs: StepInputs) -> list[InvalidStudy]:
    """Return the studies that earlier steps set aside, from the inputs' records."""
    invalid_studies: set[InvalidStudy] = set()
    for frame in inputs.tables.values():
        for values in frame.attrs[SET_ASIDE]:
            study = InvalidStudy(*values)
            # JSON has no tuples: the ids come back as a list
            ids = tuple(study.finding_ids)
            invalid_studies.add(study._replace(finding_ids=ids))
    return sorted(invalid_studies)


def materialize_result(
    configuration: Configuration,
    inputs: StepInputs,
    tables: Tables,
    metadata: Mapping[str, Any],
    check_results: Sequence[dg.AssetCheckResult] = (),
) -> Result:
    """Validate a step's tables, and return them for `TableStore` to store.

    With them goes the record of what they are made of.

    Args:
        configuration: of the home with the inputs.
        inputs: of which the tables were computed.
        tables: all tables of the step.
        metadata: of this asset; counts that every asset shows are added.
        check_results: of checks that do not block.

    Raises:
        InvalidTable: a table does not fit its schema.
        MethodError: settings, or a file that a person edits, changed meanwhile.
    """
    _require_unchanged(configuration, inputs)
    # Parquet files are encoded here, before Dagster takes them: a table that does not
    # fit its schema ends the step, and nothing of it is stored.
    encoded = [
        encode(
            TABLES[table],
            tables[table],
            inputs.keys,
            inputs.made_of,
            inputs.invalid_studies,
        )
        for table in RECIPES[inputs.step].tables
    ]
    versions = [table.record.version for table in encoded]
    # Dagster knows one version for an asset, which a change of any of its tables must
    # change.
    version = versions[0] if len(versions) == 1 else fingerprint(versions)
    return dg.MaterializeResult(
        value=encoded,
        metadata={**metadata, **_common_metadata(inputs, tables)},
        check_results=check_results,
        data_version=dg.DataVersion(version),
    )


def _require_unchanged(configuration: Configuration, inputs: StepInputs) -> None:
    """Refuse tables where an input was edited while they were made.

    Nobody could say of which of its contents they are made.
    """
    step, before = inputs.step, inputs.made_of.reads
    after = configuration.staleness().made_of(step, inputs.keys, inputs.versions).reads
    changed = sorted(name for name in before if before[name] != after.get(name))
    if changed:
        raise MethodError(
            f"{', '.join(changed)} changed while {step} was made; nothing was stored. "
            "Run the same command again: it takes what is there then."
        )


def _common_metadata(inputs: StepInputs, tables: Tables) -> dict[str, Any]:
    """Return what every asset shows: rows of side tables, counts, invalid studies."""
    step = inputs.step
    metadata: dict[str, Any] = {
        f"{side_table}_rows": len(tables[side_table])
        for side_table in RECIPES[step].tables[1:]
    }
    if column := TABLES[step].counted:
        metadata[column] = counts(tables[step][column], column)
    if inputs.invalid_studies:
        metadata["studies_set_aside"] = len(studies_of(inputs.invalid_studies))
    return metadata
