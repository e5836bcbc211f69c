"""Group `analysis`, of the result: pathways held against what reports state (implicit.md section 4).

It reads all batches of a ranker a part at a time, as the release does.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg
from upath import UPath

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.current.standing import Keys
from lunguage_assets.home.store import partition_path, read_table
from lunguage_assets.implicit.pathways.audit import Counts, EdgeAudit, audit_table
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary, load_dictionary
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.orchestration.assets.release import querying, stored_batches
from lunguage_assets.orchestration.assets.table_asset import Result, table_asset
from lunguage_assets.orchestration.metadata import rows_table
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.release.bundle.newest import NewestStudies
from lunguage_assets.tables import TERMS

_AUDIT = ["diagnosis", "sub_finding", "expected", "mentioned", "as_implied", "share", "share_low",
          "share_high", "experts", "strength", "against_experts"]  # fmt: skip


@table_asset("analysis")
def pathway_audit(home: HomeResource, keys: Keys) -> Result:
    """Count what the reports say of every edge of the pathways, beside the 0.8 of the experts."""
    dictionary = _dictionary(home)
    listed = load_label_list(dictionary=dictionary)
    with _newest(home, *keys) as studies:
        counts: Counts = Counter()
        audits = {batch: _of_batch(home, batch, listed) for batch in studies.batches}
        for part in studies.parts("study", ["lunguage_plus_plus"]):
            for batch, rows in part["lunguage_plus_plus"].groupby("report_batch", sort=True):
                counts.update(audits[str(batch)].counts(rows))
    audit = audit_table(counts, dictionary)
    return dg.MaterializeResult(
        value=audit,
        metadata={
            "measured": int((audit["mentioned"] > 0).sum()),
            "below_the_experts": int((audit["against_experts"] == "below").sum()),
            "edges": rows_table(audit[audit["mentioned"] > 0], _AUDIT),
        },
    )


def _dictionary(home: HomeResource) -> PathwayDictionary:
    """The pathways in the bundled vocabulary."""
    return load_dictionary(home.home.pathways_file, Vocabulary.from_terms(TERMS.frame()))


def _of_batch(home: HomeResource, batch: str, listed: LabelList) -> EdgeAudit:
    """The audit in the vocabulary of a batch."""
    terms = read_table(TERMS, partition_path(home.home.tables, TERMS.name, batch))
    vocabulary = Vocabulary.from_terms(terms)
    return EdgeAudit(load_dictionary(home.home.pathways_file, vocabulary), vocabulary, listed)


@contextmanager
def _newest(home: HomeResource, ranker: str) -> Iterator[NewestStudies]:
    """The newest delivery of every study over the complete batches of a ranker."""
    root = UPath(home.home.tables)
    batches, _ = stored_batches(root, ranker, [batch.key for batch in home.home.registered()])
    with querying(home.home.release / ranker) as connection:
        yield NewestStudies(connection, batches)
