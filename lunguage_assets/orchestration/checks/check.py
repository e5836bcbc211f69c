"""What a check is: it looks at the tables that a step has made, before they are stored.

Checks belong to the asset (`check_specs`) and are made in its step: they cost three events each, read nothing
again, and are never about another version of the table than the one beside which they are shown.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.current.recipes import STEP_OF
from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.resources import HomeResource


@dataclass(frozen=True)
class CheckContext:
    """What a check can look at.

    Args:
        home: settings, judges, stored tables.
        keys: key of the partition by dimension.
        tables: frames that the step has made, and single partitions that it has read, by table.
    """

    home: HomeResource
    keys: Mapping[str, str]
    tables: Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class CheckOutcome:
    """What a check found. Where it does not pass, `remedy` says what to do, and `because` why, in few words
    for the summary of a run.
    """

    passed: bool
    metadata: Mapping[str, Any] = field(default_factory=dict)
    remedy: str = ""
    because: str = ""
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.WARN


@dataclass(frozen=True)
class Check:
    """A check of a table, shown with the asset that makes it: what it says, and the function that looks;
    None: the asset yields it itself.
    """

    table: str
    name: str
    description: str
    look: Callable[[CheckContext], CheckOutcome] | None
    blocking: bool = False

    def spec(self, partitions: Partitions) -> dg.AssetCheckSpec:
        return dg.AssetCheckSpec(
            self.name,
            asset=STEP_OF[self.table],
            description=self.description,
            blocking=self.blocking,
            partitions_def=partitions.of(self.table),
        )

    def result(self, outcome: CheckOutcome) -> dg.AssetCheckResult:
        """An outcome as Dagster takes it, with the remedy where it did not pass."""
        return dg.AssetCheckResult(
            asset_key=STEP_OF[self.table],
            check_name=self.name,
            passed=outcome.passed,
            severity=outcome.severity,
            description=outcome.because or None,
            metadata={**outcome.metadata, **({} if outcome.passed else {"remedy": outcome.remedy})},
        )

    def outcome(self, context: CheckContext) -> CheckOutcome:
        """What it finds. What keeps it from looking, such as a file that was edited wrongly, is a finding
        too: a check that only reports stops no run.
        """
        assert self.look is not None
        try:
            return self.look(context)
        except LunguageError as error:
            return CheckOutcome(
                False, {"note": str(error)}, "Fix what the note names, and launch this again."
            )


def check(
    table: str, name: str, description: str
) -> Callable[[Callable[[CheckContext], CheckOutcome]], Check]:
    """Make a function that looks a check of a table."""
    return lambda look: Check(table, name, description, look)


def check_specs(
    checks: Sequence[Check], tables: Sequence[str], partitions: Partitions
) -> list[dg.AssetCheckSpec]:
    """Of the checks of tables that are made together, for `check_specs` of their asset."""
    return [check.spec(partitions) for check in checks if check.table in tables]


def check_results(checks: Sequence[Check], context: CheckContext) -> Iterator[dg.AssetCheckResult]:
    """Of the checks of tables that are there; to be yielded before the tables are."""
    for one in checks:
        if one.table in context.tables and one.look is not None:
            yield one.result(one.outcome(context))
