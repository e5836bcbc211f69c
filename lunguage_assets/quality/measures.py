"""What of a batch is compared with earlier batches: the distribution of p, how often diagnoses expand, what
intake could not use.

Every measure is SQL over a view with the column `is_new` (`earlier.py`); only counts and sums come back. The
comparison itself is in `drift.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from duckdb import DuckDBPyConnection

from lunguage_assets.quality.drift import Sample, Share

COULD_EXPAND = (
    "matched",
    "unknown view",
    "view not covered",
    "no pathway for this refinement",
    "no information on certainty",
)
"""Reasons of a stated, current, positive finding that is a diagnosis."""

_INFORMED = "(SELECT is_new, study_id, p FROM fitted_probabilities WHERE p_source <> 'none')"


def p_samples(connection: DuckDBPyConnection) -> tuple[Sample | None, Sample | None]:
    """p of the pairs that have one on some ground, in the new batch and in earlier ones; None: none."""
    rows = connection.execute(
        f"""
        WITH informed AS {_INFORMED},
        whole AS (
            SELECT is_new, avg(p) AS mean, stddev_pop(p) AS sd, quantile_cont(p, [0.1, 0.5, 0.9]) AS quantiles
            FROM informed GROUP BY is_new
        ),
        study AS (
            SELECT is_new, count(*) AS n, avg(p) AS mean, var_pop(p) * count(*) AS within
            FROM informed GROUP BY is_new, study_id
        )
        SELECT is_new, sum(n)::BIGINT, count(*), sum(n * n)::DOUBLE,
               sum(n * (study.mean - whole.mean) ** 2), sum(within),
               any_value(whole.mean), any_value(sd), any_value(quantiles)
        FROM study JOIN whole USING (is_new) GROUP BY is_new
        """
    ).fetchall()
    found = {row[0]: Sample(*row[1:]) for row in rows}
    return found.get(True), found.get(False)


def p_distance(connection: DuckDBPyConnection) -> float:
    """Kolmogorov-Smirnov distance: the largest difference between the shares of pairs up to one p."""
    (row,) = connection.execute(
        f"""
        WITH counted AS (
            SELECT p, count(*) FILTER (is_new) AS new, count(*) FILTER (NOT is_new) AS earlier
            FROM {_INFORMED} GROUP BY p
        ),
        summed AS (
            SELECT sum(new) OVER upto / sum(new) OVER () AS new,
                   sum(earlier) OVER upto / sum(earlier) OVER () AS earlier
            FROM counted WINDOW upto AS (ORDER BY p)
        )
        SELECT max(abs(new - earlier)) FROM summed
        """
    ).fetchall()
    return float(row[0])


def expansion_shares(connection: DuckDBPyConnection) -> list[Share]:
    """Per diagnosis: of the studies that could expand it, those that do; and of all studies, those that do.

    The first falls when views or refinements are no longer known, the second also when names are no longer
    recognised.
    """
    studies, studies_earlier = _studies(connection, "pathway_matches", "true")
    counted = connection.execute(
        """
        SELECT diagnosis,
               count(DISTINCT study_id) FILTER (is_new AND reason = 'matched'),
               count(DISTINCT study_id) FILTER (is_new),
               count(DISTINCT study_id) FILTER (NOT is_new AND reason = 'matched'),
               count(DISTINCT study_id) FILTER (NOT is_new)
        FROM pathway_matches WHERE NOT generated AND diagnosis <> '' AND reason IN ?
        GROUP BY diagnosis ORDER BY diagnosis
        """,
        [list(COULD_EXPAND)],
    ).fetchall()
    shares = []
    for name, does, could, did, could_earlier in counted:
        shares.append(Share(f"{name}: expands where it could", does, could, did, could_earlier))
        shares.append(Share(f"{name}: expands in a study", does, studies, did, studies_earlier))
    return shares


def intake_shares(connection: DuckDBPyConnection) -> list[Share]:
    """Studies with rejected rows, without known views, with tentative findings, with findings that are not in
    their sentence.
    """
    hedged = ("findings", "status IN ('tp', 'tn') AND mask_state <> 'not needed'")
    of_all = {
        "studies with a rejected row": ("reports", "rows_rejected > 0"),
        "studies without known views": ("reports", "view_source = 'unknown'"),
        "studies with a tentative finding": hedged,
    }
    of_hedged = {
        "of these, studies with a finding that is not in its sentence": (
            "findings",
            "status IN ('tp', 'tn') AND mask_state = 'not located'",
        )
    }
    return [*_shares(connection, ("reports", "true"), of_all), *_shares(connection, hedged, of_hedged)]


def reading_shares(connection: DuckDBPyConnection) -> list[Share]:
    """Studies with a finding, with a sentence of findings or impression that states nothing or cannot be
    read, and with a refused value.
    """
    parts = {
        "studies with a finding": ("structured_findings", "section <> 'hist'"),
        "studies with a sentence that states nothing": (
            "sentence_accounts",
            "section <> 'hist' AND account = 'nothing stated'",
        ),
        "studies with a sentence that cannot be read": (
            "sentence_accounts",
            "section <> 'hist' AND account = 'unreadable'",
        ),
        "studies with a refused value": ("refused_values", "true"),
    }
    return _shares(connection, ("sentence_accounts", "section <> 'hist'"), parts)


def _shares(
    connection: DuckDBPyConnection, whole: tuple[str, str], parts: Mapping[str, tuple[str, str]]
) -> list[Share]:
    """Label -> rows whose studies are counted, as shares of the studies of the whole."""
    studies, studies_earlier = _studies(connection, *whole)
    found = {label: _studies(connection, *rows) for label, rows in parts.items()}
    return [
        Share(label, min(hits, studies), studies, min(hits_earlier, studies_earlier), studies_earlier)
        for label, (hits, hits_earlier) in found.items()
    ]


def _studies(connection: DuckDBPyConnection, table: str, rows: str) -> tuple[int, int]:
    """Studies with such rows in the new batch, and in earlier ones."""
    ((new, earlier),) = connection.execute(
        "SELECT count(DISTINCT study_id) FILTER (is_new), count(DISTINCT study_id) FILTER (NOT is_new) "
        f"FROM {table} WHERE {rows}"
    ).fetchall()
    return new, earlier
