"""A look at the stored tables of one partition, and checks that look together in one step of a run.

A check reads the stored tables itself. Inputs of a Dagster step would cost two events each, and a step per
check ten: with one step per group a check costs three. It reads columns and types asserted, and lets broken
rows in: it is there to say which.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import dagster as dg
import pandas as pd
from upath import UPath

from lunguage_assets.current.plan import first_job, not_there
from lunguage_assets.current.recipes import BATCH, RECIPES
from lunguage_assets.errors import InvalidTable, LunguageError
from lunguage_assets.home.home import Home
from lunguage_assets.home.store import PARTITIONED_BY, partition_path, read_table, stored_partitions
from lunguage_assets.orchestration.metadata import examples
from lunguage_assets.orchestration.partitions import Partitions, partition_key, store_keys
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.withheld import plain_failures
from lunguage_assets.settings import CheckSettings
from lunguage_assets.tables import TABLES

RULES_TAG = {".dagster/lunguage_rules": "all"}
"""Run tag with which Great Expectations runs the rules of the schemas too."""

OF_TEXTS = frozenset((*RECIPES["reading"].tables, *RECIPES["structuring"].tables))
"""Tables that only batches of raw reports have."""


class NotStored(LunguageError):
    """A partition that a check would look at has not been materialised."""


class Look:
    """The stored tables of one partition, whose keys are given by dimension; each is read once.

    `all_rules`: Great Expectations runs the rules of the schemas too.
    """

    def __init__(self, resource: HomeResource, keys: Mapping[str, str], *, all_rules: bool = False) -> None:
        self.resource, self.keys, self.all_rules = resource, dict(keys), all_rules
        self._read: dict[UPath, pd.DataFrame] = {}

    @cached_property
    def home(self) -> Home:
        return self.resource.home

    @cached_property
    def limits(self) -> CheckSettings:
        """From where on checks warn."""
        return self.resource.settings.checks

    @property
    def of_findings(self) -> bool:
        """Whether the batch is registered, and was delivered as findings."""
        key = self.keys.get(BATCH, "")
        return any(batch.key == key and batch.kind == "findings" for batch in self.home.registered())

    def keys_of(self, table: str, **others: str) -> list[str]:
        """Keys of a table's partition: those of this look, as far as `others` names no other."""
        return [(self.keys | others)[name] for name in PARTITIONED_BY[table]]

    def path(self, table: str) -> UPath:
        """File of a table's partition."""
        return partition_path(self.home.tables, table, *self.keys_of(table))

    def table(self, table: str, **others: str) -> pd.DataFrame:
        """Rows of a table's partition, columns and types asserted.

        Raises:
            NotStored: it has not been materialised.
            InvalidTable: it was written under another schema.
        """
        keys = self.keys_of(table, **others)
        path = partition_path(self.home.tables, table, *keys)
        if path not in self._read:
            try:
                self._read[path] = read_table(TABLES[table], path)
            except FileNotFoundError:
                raise NotStored(not_there(table, keys)) from None
        return self._read[path]


@dataclass(frozen=True)
class Found:
    """What a check found. `remedy` says what to do where it does not pass."""

    passed: bool
    metadata: Mapping[str, Any] = field(default_factory=dict)
    remedy: str = ""
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.WARN


@dataclass(frozen=True)
class Check:
    """A check of a table: what it says, and the function that looks."""

    table: str
    name: str
    description: str
    look: Callable[[Look], Found]
    blocking: bool = False

    def __call__(self, look: Look) -> Found:
        """What it finds; what keeps it from looking is a finding too, with what to do first."""
        try:
            return self.look(look)
        except NotStored as missing:
            if self.table in OF_TEXTS and look.of_findings:
                return Found(True, {"note": "The batch was delivered as findings: it has no raw reports."})
            return Found(False, {"note": str(missing)}, str(missing))
        except InvalidTable as error:
            again = f"Launch `{first_job(self.table)}` on this partition again, then what follows from it."
            return Found(False, {"note": str(error)}, again, dg.AssetCheckSeverity.ERROR)
        except LunguageError as error:
            return Found(False, {"note": str(error)}, "Mend what the note names, then look again.")

    @property
    def key(self) -> dg.AssetCheckKey:
        return dg.AssetCheckKey(dg.AssetKey(self.table), self.name)

    def spec(self, partitions: Partitions) -> dg.AssetCheckSpec:
        return dg.AssetCheckSpec(
            self.name,
            asset=self.table,
            description=self.description,
            blocking=self.blocking,
            partitions_def=partitions.of(self.table),
        )

    def result(self, look: Look) -> dg.AssetCheckResult:
        """What it finds, with the partition and the file it looked at."""
        found = self(look)
        return dg.AssetCheckResult(
            asset_key=self.key.asset_key,
            check_name=self.name,
            passed=found.passed,
            severity=found.severity,
            metadata={
                "partition": "|".join(look.keys.values()),
                **found.metadata,
                "table": dg.MetadataValue.path(str(look.path(self.table))),
                **({} if found.passed else {"remedy": found.remedy}),
            },
        )

    def evaluation(self, result: dg.AssetCheckResult, partition: str | None) -> dg.AssetCheckEvaluation:
        """The result of a partition, or of all of them, in a run that has none."""
        return dg.AssetCheckEvaluation(
            asset_key=self.key.asset_key,
            check_name=self.name,
            passed=result.passed,
            severity=result.severity,
            metadata=result.metadata,
            blocking=self.blocking,
            partition=partition,
        )

    def summary(self, results: Mapping[str, dg.AssetCheckResult], alone: str) -> dg.AssetCheckResult:
        """What it came to in all stored partitions; `alone` is the job that looks at one of them."""
        failing = {partition: result for partition, result in results.items() if not result.passed}
        errors = any(result.severity is dg.AssetCheckSeverity.ERROR for result in failing.values())
        passed = bool(results) and not failing
        remedy = f"See *Partitions* for each; the job `{alone}` looks at one of them again."
        if not results:
            remedy = f"Nothing of this table is stored: launch the job `{first_job(self.table)}` first."
        return dg.AssetCheckResult(
            passed=passed,
            severity=dg.AssetCheckSeverity.ERROR if errors else dg.AssetCheckSeverity.WARN,
            metadata={
                "partitions": len(results),
                "failing_partitions": len(failing),
                "failing": examples(failing),
                **({} if passed else {"remedy": remedy}),
            },
        )


def few(
    part: tuple[str, int], whole: tuple[str, int], limit: float, more: Mapping[str, Any], remedy: str
) -> Found:
    """Passes as long as a part is no larger a share of the whole than `limit`; both have a name and a
    number.
    """
    share = part[1] / whole[1] if whole[1] else 0.0
    shares = {f"{part[0]}_share": share, "allowed_share": limit}
    return Found(share <= limit, dict([whole, part]) | shares | dict(more), remedy)


def check(
    table: str, name: str, description: str, *, blocking: bool = False
) -> Callable[[Callable[[Look], Found]], Check]:
    """Make a function that looks a check of a table."""
    return lambda look: Check(table, name, description, look, blocking)


def looked_at_together(
    name: str, alone: str, tables: Sequence[str], checks: Sequence[Check], partitions: Partitions
) -> dg.AssetChecksDefinition:
    """One step of a run for the checks of tables that are made together, and so of the same partitions; those
    that block come first. `alone` is the job in which a person can run it for a partition.

    A run without a partition (*Execute all* in the UI) looks at every stored one.
    """
    (dimensions,) = {PARTITIONED_BY[table] for table in tables}
    in_order = sorted(checks, key=lambda check: not check.blocking)

    @dg.multi_asset_check(
        name=name,
        specs=[check.spec(partitions) for check in in_order],
        description=f"Look at what is stored of {', '.join(tables)}.",
        can_subset=True,
    )
    def look_at_them(
        context: dg.AssetCheckExecutionContext, home: HomeResource
    ) -> Iterator[dg.AssetCheckResult | dg.AssetCheckEvaluation | dg.Output]:
        chosen = [check for check in in_order if check.key in context.selected_asset_check_keys]
        all_rules = RULES_TAG.items() <= context.run.tags.items()

        def look_at(keys: Sequence[str]) -> Look:
            return Look(home, dict(zip(dimensions, keys, strict=True)), all_rules=all_rules)

        with plain_failures():
            if context.has_partition_key:
                look = look_at(store_keys(context.partition_key, dimensions))
                yield from (check.result(look) for check in chosen)
                return
            # Not `AssetCheckResult`: of a run without a partition it asks for the one of the run.
            stored = {table: stored_partitions(home.home.tables, table) for table in tables}
            found: dict[Check, dict[str, dg.AssetCheckResult]] = {check: {} for check in chosen}
            for keys in sorted({keys for of_table in stored.values() for keys in of_table}):
                look = look_at(keys)  # its tables are let go with it
                for check in chosen:
                    if keys in stored[check.table]:
                        found[check][str(partition_key(dimensions, keys))] = check.result(look)
            for check, results in found.items():  # the UI shows the last of the partitions first
                for partition in sorted(results, key=lambda partition: not results[partition].passed):
                    yield check.evaluation(results[partition], partition)
                yield check.evaluation(check.summary(results, alone), None)
                yield dg.Output(None, check.spec(partitions).get_python_identifier())

    return look_at_them
