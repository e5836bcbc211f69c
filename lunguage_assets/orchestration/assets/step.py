"""A recipe and a function become a Dagster asset: partitions, inputs, versions and tags come from the recipe.

A step is a function at module level. It takes the context, the home and the frames that its recipe names, and
yields one `dg.Output` per table. What is common to all steps is added here: every table is validated and
encoded with the record of what it was made of, and that record's version is Dagster's data version.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.current.plan import not_there
from lunguage_assets.current.recipes import RECIPES, Recipe, dimensions_of
from lunguage_assets.errors import MethodError
from lunguage_assets.home.home import Home
from lunguage_assets.home.record import MadeOf, encode
from lunguage_assets.home.store import partition_path, read_sound_table
from lunguage_assets.orchestration.assets.edited import edited_deps
from lunguage_assets.orchestration.metadata import sample_rows, table_options
from lunguage_assets.orchestration.partitions import Partitions, store_keys
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.withheld import plain_failures
from lunguage_assets.settings import DataClass
from lunguage_assets.tables import TABLES

Compute = Callable[..., Iterator[dg.Output | dg.AssetCheckResult]]

JUDGES_POOL = "judges"
"""Pool of the steps that ask judges. A budget holds, and a model in the process is loaded, by process: of the
runs in the queue one at a time asks, unless dagster.yaml is told otherwise.
"""


def step_asset(
    step: str,
    compute: Compute,
    partitions: Partitions,
    group: str,
    *,
    kinds: Mapping[str, set[str]] | None = None,
    check_specs: Sequence[dg.AssetCheckSpec] = (),
) -> dg.AssetsDefinition:
    """The asset, or assets made together, of a step.

    Args:
        step: name in `RECIPES`.
        compute: generator function with parameters `context`, `home` and one per table that the recipe reads.
        partitions: of this code location.
        group: of the assets.
        kinds: table -> further kinds for the UI.
        check_specs: checks that the step makes itself.
    """
    recipe = RECIPES[step]
    return dg.multi_asset(
        name=step,
        check_specs=check_specs,
        partitions_def=partitions.of(recipe.tables[0]),
        pool=JUDGES_POOL if recipe.asks_judges else None,
        ins={
            wanted.table: dg.AssetIn(
                partition_mapping=partitions.mapping(step, wanted),
                metadata={"allow_missing_partitions": True} if wanted.on_request or wanted.optional else None,
            )
            for wanted in recipe.inputs
            if not (wanted.side or wanted.of_texts or recipe.by_query)
        },
        deps=[
            *edited_deps(step),
            *(
                dg.AssetDep(wanted.table, partition_mapping=partitions.mapping(step, wanted))
                for wanted in recipe.inputs
                if (wanted.of_texts or recipe.by_query) and not wanted.side
            ),
        ],
        outs={
            table: dg.AssetOut(
                code_version=recipe.code, **table_options(table, group, kinds=(kinds or {}).get(table))
            )
            for table in recipe.tables
        },
    )(_recorded(step, recipe, compute))


def _recorded(step: str, recipe: Recipe, compute: Compute) -> Compute:
    """The function; side tables and those of raw reports are read for it, outputs encoded, recorded and given
    a data version.
    """
    side = [
        wanted.table for wanted in recipe.inputs if (wanted.side or wanted.of_texts) and not recipe.by_query
    ]

    @wraps(compute)
    def recorded(
        context: dg.AssetExecutionContext, home: HomeResource, **read: Any
    ) -> Iterator[dg.Output | dg.AssetCheckResult]:
        keys = store_keys(context.partition_key, recipe.dimensions)
        with plain_failures():
            now = home.standings()
            for wanted, place in now.inputs(step, keys):
                if wanted.table in side:
                    read[wanted.table] = stored_table(home.home, wanted.table, place)
            made_of = now.made_of(step, keys, by_keys(recipe, read))
            corpus = home.home.corpus()
            data_class = corpus.data_class if corpus is not None else None
            for output in compute(context, home=home, **read):
                yield (
                    _encoded(output, keys, made_of, data_class) if isinstance(output, dg.Output) else output
                )

    shown = inspect.signature(compute)
    recorded.__signature__ = shown.replace(  # type: ignore[attr-defined]
        parameters=[parameter for name, parameter in shown.parameters.items() if name not in side]
    )
    return recorded


def stored_table(home: Home, table: str, keys: Sequence[str]) -> pd.DataFrame:
    """A stored partition, or what to launch first."""
    try:
        return read_sound_table(TABLES[table], partition_path(home.tables, table, *keys))
    except FileNotFoundError:
        raise MethodError(not_there(table, keys)) from None


def _encoded(
    output: dg.Output, keys: Sequence[str], made_of: MadeOf, data_class: DataClass | None
) -> dg.Output:
    table = encode(TABLES[output.output_name], output.value, keys, made_of)
    return dg.Output(
        table,
        output.output_name,
        metadata={
            **output.metadata,
            **sample_rows(TABLES[output.output_name], table.frame, data_class),
        },
        data_version=dg.DataVersion(table.record.version),
    )


def by_keys(recipe: Recipe, read: Mapping[str, Any]) -> dict[str, Any]:
    """Frames that were read, those of several partitions by the keys of the store."""
    found: dict[str, Any] = {}
    for wanted in recipe.inputs:
        if wanted.table not in read:
            continue
        value = read[wanted.table]
        dimensions = dimensions_of(wanted.table)
        if value is None:
            found[wanted.table] = {}
        elif isinstance(value, Mapping):
            found[wanted.table] = {store_keys(key, dimensions): frame for key, frame in value.items()}
        else:
            found[wanted.table] = value
    return found
