"""A recipe and a function become a Dagster asset: partitions, inputs, versions and tags come from the recipe.

A step is a function at module level. It takes the home, the keys of its partition and the frames that its
recipe names, and yields one `dg.Output` per table. What is common to all steps is added here: tables are read
from the store, studies that break a rule are set aside, and tables are encoded with the record of what they
were made of; that record's version is Dagster's data version. Dagster draws the inputs and hands none over,
because one that it loads costs two events.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.current.recipes import BATCH, RECIPES, Input, dimensions_of
from lunguage_assets.current.standing import Keys, Standings
from lunguage_assets.errors import InvalidTable
from lunguage_assets.home.record import encode
from lunguage_assets.home.store import SET_ASIDE, partition_path
from lunguage_assets.orchestration.checks.check import CheckContext, check_results, check_specs
from lunguage_assets.orchestration.checks.checks import CHECKS, refused
from lunguage_assets.orchestration.io_manager import stored_table
from lunguage_assets.orchestration.metadata import (
    EXAMPLES,
    Spending,
    counted,
    markdown,
    sample_rows,
    table_options,
)
from lunguage_assets.orchestration.partitions import Partitions, store_keys
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.withheld import plain_failures
from lunguage_assets.quality.set_aside import (
    OF_STUDIES,
    Aside,
    broken_studies,
    require_few,
    studies_of,
    without_studies,
)
from lunguage_assets.tables import TABLES

Made = Iterator[dg.Output | dg.AssetCheckResult]
Compute = Callable[..., Made]
Frames = Mapping[Keys, pd.DataFrame]
"""An input of which a step reads several partitions, by their keys in the order of the store."""

LISTING = ("structuring", "intake", "resolution")
"""Steps that are told which studies are set aside: what was delivered, which they read, keeps all studies."""

JUDGES_POOL = "judges"
"""Pool of the steps that ask judges. A budget holds, and a model in the process is loaded, by process: of the
runs in the queue one at a time asks, unless dagster.yaml is told otherwise.
"""


def step_asset(step: str, compute: Compute, partitions: Partitions, group: str) -> dg.AssetsDefinition:
    """The asset, or assets made together, of a step.

    Args:
        step: name in `RECIPES`.
        compute: generator function with parameters `home`, `keys`, one per table that the recipe reads, and
            `spending` where it asks judges.
        partitions: of this code location.
        group: of the assets.
    """
    recipe = RECIPES[step]

    @dg.multi_asset(
        name=step,
        description=compute.__doc__,
        check_specs=check_specs(CHECKS, recipe.tables, partitions),
        partitions_def=partitions.of(recipe.tables[0]),
        pool=JUDGES_POOL if recipe.asks_judges else None,
        deps=partitions.deps(step),
        outs={
            table: dg.AssetOut(code_version=recipe.code, **table_options(table, group))
            for table in recipe.tables
        },
    )
    def recorded(context: dg.AssetExecutionContext, home: HomeResource) -> Made:
        keys = store_keys(context.partition_key, recipe.dimensions)
        with plain_failures():
            yield from made(step, compute, home, keys, context.log)

    return recorded


def made(step: str, compute: Compute, home: HomeResource, keys: Keys, log: logging.Logger) -> Made:
    """What a step makes of one partition: its checks, then its tables, encoded with their record.

    Raises:
        MethodError: something that it reads is not there; says what to launch first.
        InvalidTable: too many studies break a rule; nothing is stored.
    """
    recipe, now, spending = RECIPES[step], home.standings(), Spending(log)
    read = {} if recipe.by_query else _read(step, keys, now)
    made_of, corpus = now.made_of(step, keys, read), home.home.corpus()
    asking = {"spending": spending} if recipe.asks_judges else {}
    try:
        found, asides = _computed(step, partial(compute, home=home, keys=keys, **asking), read, home)
    except InvalidTable as error:
        yield from refused(step, error)
        raise
    outputs = [one for one in found if isinstance(one, dg.Output)]
    frames = {output.output_name: output.value for output in outputs}
    yield from (one for one in found if isinstance(one, dg.AssetCheckResult))
    of_partition = dict(zip(recipe.dimensions, keys, strict=True))
    yield from check_results(CHECKS, CheckContext(home, of_partition, frames))
    for output in outputs:
        table = TABLES[output.output_name]
        encoded = encode(table, output.value, keys, made_of, asides)
        metadata = {
            **output.metadata,
            **(spending.metadata() if table.name == recipe.tables[0] else {}),
            **(_told(asides) if table.name == recipe.tables[0] else {}),
            **counted(table, encoded.frame),
            **sample_rows(table, encoded.frame, corpus.data_class if corpus is not None else None),
        }
        version = dg.DataVersion(encoded.record.version)
        yield dg.Output(encoded, table.name, metadata=metadata, data_version=version)


def _computed(
    step: str, compute: Callable[..., Made], read: Mapping[str, Any], home: HomeResource
) -> tuple[Sequence[dg.Output | dg.AssetCheckResult], Sequence[Aside]]:
    """What a step makes, and the studies that are set aside: before, or because they break a rule now. When
    there are such, the step is computed again without them.

    Raises:
        InvalidTable: too many studies break a rule, or one still does without its rows.
    """
    if not OF_STUDIES & set(RECIPES[step].tables):
        return list(compute(**read)), ()
    asides = sorted({one for frame in read.values() for one in _carried(frame)})
    delivered = read["reports"]["study_id"].tolist() if "reports" in read else []
    while True:
        studies = studies_of(asides)
        told = {"set_aside": asides} if step in LISTING else {}
        outputs = list(compute(**without_studies(read, studies), **told))
        frames = {made.output_name: made.value for made in outputs if isinstance(made, dg.Output)}
        new = broken_studies(step, frames, delivered)
        if not new:
            return outputs, asides
        of = max(
            frame["study_id"].nunique()
            for frame in (*read.values(), *frames.values())
            if isinstance(frame, pd.DataFrame) and "study_id" in frame
        )
        strict = home.is_strict or studies_of(new) <= studies
        asides = sorted({*asides, *new})
        require_few(new, asides, of, strict=strict)


def _carried(frame: Any) -> list[Aside]:
    """Studies that were set aside before the table was made that was read."""
    values = frame.attrs.get(SET_ASIDE, ()) if isinstance(frame, pd.DataFrame) else ()
    return [Aside(study, *rest, tuple(ids), found) for study, *rest, ids, found in values]


def _told(asides: Sequence[Aside]) -> dict[str, Any]:
    if not asides:
        return {}
    rows = [(one.study_id, one.step, one.table, one.rule, one.found) for one in asides]
    shown = markdown(["study", "step", "table", "rule", "found"], rows[:EXAMPLES])
    return {"studies_set_aside": len(studies_of(asides)), "set_aside": shown}


def _read(step: str, keys: Keys, now: Standings) -> dict[str, Any]:
    """Table -> frame that a step reads, or `Frames`. What is read on request is left out while it is not
    there.
    """
    root, recipe = now.home.tables, RECIPES[step]
    found: dict[str, Any] = {wanted.table: {} for wanted in recipe.inputs if _several(step, wanted)}
    for wanted, place in now.inputs(step, keys):
        if wanted.on_request and not partition_path(root, wanted.table, *place).exists():
            continue
        frame = stored_table(root, wanted.table, place)
        if wanted.table in found:
            found[wanted.table][place] = frame
        else:
            found[wanted.table] = frame
    return found


def _several(step: str, wanted: Input) -> bool:
    """Whether a step reads several partitions of a table: of several judges, or of all batches."""
    all_batches = BATCH in dimensions_of(wanted.table) and BATCH not in RECIPES[step].dimensions
    return all_batches or wanted.judge in ("members", "all")
