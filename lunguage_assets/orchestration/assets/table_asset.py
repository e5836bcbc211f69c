"""The decorator of assets that are tables. A decorated function has the name of its table; its parameters are
the tables that its recipe names, `configuration`, `keys` (of its partition, in the order of the store) and, where it
asks judges, `spending`. The value of the `dg.MaterializeResult` that it returns is its table, or its table
and side tables by name. Around it, tables are read from the store, studies that break a rule are set aside,
and what it made is encoded with the record of what it was made of, whose version is Dagster's data version.
Dagster draws the inputs and hands none over: `current` says which partitions are read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import InvalidTable, MethodError
from lunguage_assets.lineage.recipes import BATCH, RECIPES, dimensions_of
from lunguage_assets.lineage.staleness import Keys, StalenessChecker
from lunguage_assets.orchestration.assets.edited_files import files_read
from lunguage_assets.orchestration.automation import condition
from lunguage_assets.orchestration.checks import (
    CheckContext,
    check_results,
    check_specs,
    may_be_stored,
    refused,
)
from lunguage_assets.orchestration.io_manager import stored_table
from lunguage_assets.orchestration.metadata import asset_options, counts
from lunguage_assets.orchestration.partitions import Partitions, store_keys
from lunguage_assets.orchestration.redaction import plain_failures
from lunguage_assets.orchestration.spending import Account, Spending
from lunguage_assets.quality import rules
from lunguage_assets.quality.rules import InvalidStudy, studies_of
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.store import (
    SET_ASIDE,
    VERSION,
    EncodedTable,
    Lineage,
    encode,
    fingerprint,
    partition_path,
)

Result = dg.MaterializeResult[Any]
Frames = Mapping[Keys, pd.DataFrame]
"""An input of which an asset reads several partitions, by their keys in the order of the store."""

JUDGES_POOL = "judges"
"""Pool of the assets that ask judges: of the runs in the queue one at a time asks, because a budget holds by
process.
"""


class TableAsset(NamedTuple):
    """An asset that is a table, with the side tables that are made with it."""

    name: str
    group: str
    compute: Callable[..., Result]

    def definition(
        self, partitions: Partitions, of: Configuration
    ) -> dg.AssetsDefinition:
        """The asset as Dagster knows it: everything that is not its function comes from its recipe."""
        recipe, options = RECIPES[self.name], asset_options(self.name, self.group)
        if TABLES[self.name].automated:
            options["automation_condition"] = condition(of, self.name)

        @dg.multi_asset(
            name=self.name,
            outs={self.name: dg.AssetOut(code_version=recipe.code, **options)},
            description=self.compute.__doc__,
            partitions_def=partitions.of(self.name),
            deps=[*partitions.deps(self.name), *files_read(recipe.reads)],
            check_specs=check_specs(recipe.tables, partitions),
            pool=JUDGES_POOL if recipe.asks_judges else None,
        )
        def materialize(
            context: dg.AssetExecutionContext,
            configuration: dg.ResourceParam[Configuration],
        ) -> Iterator[dg.AssetCheckResult | dg.Output[Sequence[EncodedTable]]]:
            keys = store_keys(context.partition_key, recipe.dimensions)
            with plain_failures():
                spending = Spending(
                    context.log, Account.of(context, configuration, self.name, keys)
                )
                try:
                    made, metadata, results = self.made(configuration, keys, spending)
                except InvalidTable as error:
                    yield from refused(self.name, error)
                    raise
                yield from results
                frames = {one.record.table: one.frame for one in made}
                by_name = dict(zip(recipe.dimensions, keys, strict=True))
                found = list(
                    check_results(
                        CheckContext(configuration, by_name, frames, spending.asked)
                    )
                )
                yield from found
                if not may_be_stored(found):
                    raise InvalidTable(
                        f"{self.name}: a blocking check failed, nothing stored; its note says why"
                    )
                versions = [one.record.version for one in made]
                version = dg.DataVersion(
                    versions[0] if len(versions) == 1 else fingerprint(versions)
                )
                yield dg.Output(
                    made, self.name, metadata=metadata, data_version=version
                )

        return materialize

    def made(
        self, configuration: Configuration, keys: Keys, spending: Spending
    ) -> tuple[list[EncodedTable], dict[str, Any], Sequence[dg.AssetCheckResult]]:
        """What it makes of one partition: its tables, its own first, what the UI shows of them, and checks of
        its own. Nothing is stored. Raises `MethodError` when something that it reads is not there,
        `InvalidTable` when too many studies break a rule.
        """
        recipe, now = RECIPES[self.name], configuration.staleness()
        read, versions = ({}, None) if recipe.by_query else _read(self.name, keys, now)
        made_of = now.made_of(self.name, keys, versions)
        asking = {"spending": spending} if recipe.asks_judges else {}
        compute = partial(
            self.compute, configuration=configuration, keys=keys, **asking
        )
        result, frames, asides = _computed(self.name, compute, read, configuration)
        self._require_unchanged(
            made_of, configuration.staleness().made_of(self.name, keys, versions)
        )
        encoded = [
            encode(TABLES[one], frames[one], keys, made_of, asides)
            for one in recipe.tables
        ]
        shown = {**(result.metadata or {}), **spending.metadata()}
        shown |= {f"{table}_rows": len(frames[table]) for table in recipe.tables[1:]}
        if column := TABLES[self.name].counted:
            shown[column] = counts(frames[self.name][column], column)
        if asides:
            shown["studies_set_aside"] = len(studies_of(asides))
        return encoded, shown, result.check_results or ()

    def _require_unchanged(self, before: Lineage, after: Lineage) -> None:
        """Refuse a result while which something that it was made of was edited: nobody could say of what.

        Args:
            before: what the tables would be made of when the making began.
            after: the same when it had ended.

        Raises:
            MethodError: settings, or a file that a person edits, are others now.
        """
        changed = sorted(
            name for name in before.reads if before.reads[name] != after.reads.get(name)
        )
        if changed:
            raise MethodError(
                f"{', '.join(changed)} changed while {self.name} was made; nothing was stored. Run the same "
                "command again: it takes what is there then."
            )


def table_asset(group: str) -> Callable[[Callable[..., Result]], TableAsset]:
    """Make a function an asset of a group, named as the function."""
    return lambda compute: TableAsset(compute.__name__, group, compute)


def _computed(
    name: str,
    compute: Callable[..., Result],
    read: Mapping[str, Any],
    configuration: Configuration,
) -> tuple[Result, Mapping[str, pd.DataFrame], Sequence[InvalidStudy]]:
    """What an asset's function gives, its tables by name, and the studies that are set aside: before, or
    because they break a rule now, when it is computed again without them. Raises `InvalidTable` when they are
    too many, or one still breaks a rule without its rows.
    """
    single = {
        key: frame for key, frame in read.items() if isinstance(frame, pd.DataFrame)
    }
    of_studies = any(TABLES[table].per_study for table in RECIPES[name].tables)
    before = (
        [one for frame in single.values() for one in frame.attrs[SET_ASIDE]]
        if of_studies
        else []
    )
    asides = sorted(
        {
            InvalidStudy(study, *rest, tuple(ids), found)
            for study, *rest, ids, found in before
        }
    )
    delivered = read["reports"]["study_id"].tolist() if "reports" in read else []
    while True:
        studies = studies_of(asides)
        told = {"set_aside": asides} if TABLES[name].receives_set_aside else {}
        result = compute(**rules.without_studies(read, studies), **told)
        frames = (
            {name: result.value}
            if isinstance(result.value, pd.DataFrame)
            else result.value
        )
        at_once = configuration.processes
        new = (
            rules.broken_studies(name, frames, delivered, at_once) if of_studies else []
        )
        if not new:
            return result, frames, asides
        known = [
            one for one in (*single.values(), *frames.values()) if "study_id" in one
        ]
        strict = configuration.is_strict or studies_of(new) <= studies
        asides = sorted({*asides, *new})
        rules.require_few(
            new, asides, max(one["study_id"].nunique() for one in known), strict=strict
        )


def _read(
    name: str, keys: Keys, now: StalenessChecker
) -> tuple[dict[str, Any], dict[tuple[str, Keys], str]]:
    """Table -> frame that an asset reads, or `Frames`; and the version of each partition. What is read on
    request is left out while it is not there.
    """
    root, recipe = now.home.tables, RECIPES[name]
    found: dict[str, Any] = {}
    for wanted in recipe.inputs:
        over_batches = (
            BATCH in dimensions_of(wanted.table) and BATCH not in recipe.dimensions
        )
        if over_batches or wanted.judge in ("members", "all"):
            found[wanted.table] = {}
    versions: dict[tuple[str, Keys], str] = {}
    for wanted, place in now.inputs(name, keys):
        if (
            wanted.on_request
            and not partition_path(root, wanted.table, *place).exists()
        ):
            continue
        frame = stored_table(root, wanted.table, place)
        versions[wanted.table, place] = str(frame.attrs[VERSION])
        if wanted.table in found:
            found[wanted.table][place] = frame
        else:
            found[wanted.table] = frame
    return found, versions
