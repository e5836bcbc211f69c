"""Checks that compare a batch with the batches registered before it: the distribution of p, how often
diagnoses expand, what intake met.

They warn: other reports may differ from earlier ones for good reasons, and a person should know which. A
first batch passes with a note.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from dagster_duckdb import DuckDBResource
from duckdb import DuckDBPyConnection

from lunguage_assets.home.table_place import is_local
from lunguage_assets.orchestration.checks.look import Found, Look, check
from lunguage_assets.orchestration.metadata import markdown
from lunguage_assets.quality.drift import Sample, Share, ShareShift, distribution_shift, share_shifts
from lunguage_assets.quality.earlier import batches_before, view_with_earlier
from lunguage_assets.quality.measures import expansion_shares, intake_shares, p_distance, p_samples

FIRST = (
    "Nothing to compare with: no earlier batch is stored. The batches that follow are compared with this one."
)


@check(
    "fitted_probabilities",
    "p_drift",
    "The p of tentative findings are distributed as in earlier batches of the same ranker and ranking.",
)
def p_drift(look: Look) -> Found:
    with beside_earlier(look, "fitted_probabilities", same="ranking_version") as (connection, before):
        new, earlier = p_samples(connection)
        if new is None or earlier is None:
            return Found(True, {"note": FIRST})
        shift = distribution_shift(p_distance(connection), new, earlier, look.limits)
        compared = connection.execute(
            "SELECT DISTINCT report_batch FROM fitted_probabilities WHERE NOT is_new"
        ).fetchall()
    return Found(
        not shift.drifted,
        {
            "distance": shift.distance,
            "p_value": shift.p_value,
            "compared_with": ", ".join(batch for batch in before if (batch,) in compared),
            "report": markdown(
                ["", "pairs", "worth (studies counted)", "mean", "sd", "10%", "median", "90%"],
                [_sample_row("this batch", new), _sample_row("earlier batches", earlier)],
            ),
        },
        "Look at the histograms of p of this batch and of an earlier one, then at `pairs_informed` and "
        "`pairs_reviewed`: another hospital or another way of reporting is a reason, a judge that answers "
        "otherwise than before (`judge_alive`, `position_bias`) or phrases cut otherwise are faults. If the "
        "reports are right, launch `build_vocabulary`, `compare` and `rank`, so that the ranking knows their "
        "phrases.",
    )


@check(
    "pathway_matches",
    "expansion_drift",
    "Diagnoses expand as often as in earlier batches, where they could and over all studies.",
)
def expansion_drift(look: Look) -> Found:
    return shares_found(
        look,
        ["pathway_matches"],
        expansion_shares,
        "Diagnoses that expand less often where they could: look at the reasons of pathway_matches, most "
        "often views that are not known (deliver the metadata file, or set default_view). Diagnoses that "
        "expand in fewer studies: names may not be recognised (deliver Lunguage_vocab.csv) or the reports "
        "are of other patients. Then launch `ingest`, `fit` and `expand` for this batch.",
    )


@check(
    "reports",
    "intake_drift",
    "Rejected rows, unknown views, tentative findings and findings that are not in their sentence are as "
    "frequent as in earlier batches.",
)
def intake_drift(look: Look) -> Found:
    return shares_found(
        look,
        ["reports", "findings"],
        intake_shares,
        "Compare the delivery with an earlier one: a changed export often loses the metadata file (views), "
        "changes a code (rejected rows, see the check `intake_accepted`), or gives another column as the "
        "finding (findings that are not in their sentence). Deliver what is missing as a new batch. If the "
        "reports are right, nothing is to be done.",
    )


@contextmanager
def beside_earlier(
    look: Look, table: str, *more: str, same: str = ""
) -> Iterator[tuple[DuckDBPyConnection, list[str]]]:
    """A connection with a view per table of this batch and earlier ones, and the earlier ones of `table`."""
    batch = look.keys["report_batch"]
    before = batches_before(look.home, batch, look.limits.earlier_batches)
    for name in (table, *more):
        look.table(name)  # must be there
    with DuckDBResource(database=":memory:").get_connection() as connection:
        if not is_local(look.home.tables):
            connection.register_filesystem(look.home.tables.fs)
        others = {name: key for name, key in look.keys.items() if name != "report_batch"}
        found = [
            view_with_earlier(connection, look.home, name, batch, before, same=same, **others)
            for name in (table, *more)
        ]
        yield connection, found[0]


def shares_found(
    look: Look, tables: Sequence[str], shares: Callable[[DuckDBPyConnection], list[Share]], remedy: str
) -> Found:
    """What a comparison of shares of these tables found."""
    with beside_earlier(look, *tables) as (connection, before):
        if not before:
            return Found(True, {"note": FIRST})
        shifts = share_shifts(shares(connection), look.limits)
    drifted = [shift for shift in shifts if shift.drifted]
    worst_first = sorted(shifts, key=lambda shift: (not shift.drifted, shift.p_value, shift.share.label))
    return Found(
        not drifted,
        {
            "compared": len(shifts),
            "drifted": len(drifted),
            "compared_with": ", ".join(before),
            "report": markdown(
                ["share of studies", "this batch", "earlier", "difference (Cohen's h)", "p value (Holm)", ""],
                (_share_row(shift) for shift in worst_first),
                "Nothing that could be compared occurs in this batch and in earlier ones.",
            ),
        },
        remedy,
    )


def _share_row(shift: ShareShift) -> tuple[object, ...]:
    share = shift.share
    return (
        share.label,
        f"{share.hits} of {share.studies} ({share.hits / share.studies:.1%})",
        f"{share.hits_earlier} of {share.studies_earlier} ({share.hits_earlier / share.studies_earlier:.1%})",
        f"{shift.effect:+.2f}",
        f"{shift.p_value:.2g}",
        "drift" if shift.drifted else "",
    )


def _sample_row(label: str, sample: Sample) -> tuple[object, ...]:
    numbers = (sample.mean, sample.sd, *sample.quantiles)
    return (label, sample.values, f"{sample.effective:.0f}", *(f"{value:.3f}" for value in numbers))
