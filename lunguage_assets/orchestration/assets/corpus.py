"""Groups `text` and `corpus`: raw reports are read, cut into sentences, and structured; a batch becomes
validated rows, and what cannot be used is kept with its reason. For batches that were delivered as findings
the tables of texts are empty, and nothing asks for them.
"""

from collections.abc import Sequence

import dagster as dg
import pandas as pd

from lunguage_assets.configuration import Configuration
from lunguage_assets.corpus.intake import take_in, take_in_gold, take_in_structured
from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.side_files import read_terms
from lunguage_assets.corpus.texts.raw import study_of
from lunguage_assets.corpus.texts.receiving import (
    Received,
    receive,
    without_other_languages,
)
from lunguage_assets.judges.configuration import RADGRAPH, RADGRAPH_SECOND, RULES
from lunguage_assets.lineage.old_ids import translate_corrections
from lunguage_assets.lineage.recipes import RECIPES
from lunguage_assets.lineage.staleness import Keys
from lunguage_assets.orchestration.assets.table_asset import Frames, Result, table_asset
from lunguage_assets.orchestration.metadata import SHOWN, markdown
from lunguage_assets.orchestration.spending import Spending
from lunguage_assets.parallel import joined, map_studies
from lunguage_assets.quality.rules import InvalidStudy, studies_of, without_studies
from lunguage_assets.structuring.agreement import gold_rows
from lunguage_assets.structuring.agreement import (
    structuring_agreement as agreement_of_structurers,
)
from lunguage_assets.structuring.contract import Structurer
from lunguage_assets.structuring.cue_counts import cue_counts
from lunguage_assets.structuring.radgraph import RadGraphStructurer
from lunguage_assets.structuring.rows import read_reports, structured_reports
from lunguage_assets.structuring.rules.structurer import rule_structurer
from lunguage_assets.structuring.text.languages import NOT_ENGLISH
from lunguage_assets.tables import TABLES


@table_asset("text")
def report_texts(configuration: Configuration, keys: Keys) -> Result:
    """Read the raw reports of a batch, and cut them into sentences."""
    batch = configuration.home.batch(*keys)
    value = {table: TABLES[table].frame() for table in RECIPES["report_texts"].tables}
    if batch.kind == "text":
        value = vars(
            read_reports(
                receive(
                    configuration.home.delivery(batch.key),
                    configuration.settings.corpus,
                ),
                configuration.processes,
            )
        )
    metadata = {"batch_sha256": batch.sha256, "studies": len(value["report_texts"])}
    return dg.MaterializeResult(value=value, metadata=metadata)


@table_asset("text")
def structured_findings(
    configuration: Configuration,
    keys: Keys,
    spending: Spending,
    report_texts: pd.DataFrame,
    report_sentences: pd.DataFrame,
    set_aside: Sequence[InvalidStudy] = (),
) -> Result:
    """Read findings in the raw reports of a batch with one structurer."""
    key, batch = keys
    terms = read_terms(configuration.home.delivery(batch).vocabulary, IntakeLog())
    structurer: Structurer
    if key in (RADGRAPH, RADGRAPH_SECOND):
        graphs = {}
        for report in configuration.home.delivery(batch).raw_reports():
            graph = report.graph if key == RADGRAPH else report.second_graph
            if graph:
                graphs[study_of(report.study)] = graph
        structurer = RadGraphStructurer(graphs, terms, key)
    else:
        structurer = configuration.open_structurer(
            key, terms, spending.note, spending.bill
        )
    given = report_texts, report_sentences
    if key == RULES:
        at_once = configuration.processes
        made = map_studies(
            structured_reports,
            given,
            rule_structurer,
            terms,
            configuration.home.assertion_file,
            processes=at_once,
        )
    else:  # others get all: its limits say how many are in flight
        made = [structured_reports(*given, structurer)]
    found, accounts, refused = (joined(frames) for frames in zip(*made, strict=True))
    aside = studies_of(set_aside)
    found = without_studies({"structured_findings": found}, aside)[
        "structured_findings"
    ]
    theirs = accounts["study_id"].isin(aside) & (accounts["account"] == "findings")
    accounts.loc[theirs, ["account", "reason", "rows"]] = ["unreadable", "set aside", 0]
    value = {
        "structured_findings": found,
        "sentence_accounts": accounts,
        "refused_values": refused,
    }
    metadata = {
        "structurer": structurer.identity,
        "studies": len(report_texts),
        "studies_with_findings": int(found["study_id"].nunique()),
    }
    return dg.MaterializeResult(value=value, metadata=metadata)


@table_asset("text")
def structuring_agreement(
    configuration: Configuration, keys: Keys, structured_findings: Frames
) -> Result:
    """Hold the structurers of a batch against each other, and against rows that people coded."""
    read = {structurer: frame for (structurer, _), frame in structured_findings.items()}
    file, gold = configuration.home.gold_findings, None
    if file.exists():
        vocabulary = configuration.home.delivery(
            *keys
        ).vocabulary  # which names the rows
        gold = gold_rows(take_in_gold(file, vocabulary, configuration.settings.corpus))
    by_cue = cue_counts(read, gold)
    shown = by_cue.head(SHOWN)[["cue", "rows", "compared", "differing"]].replace(
        {"cue": {"": "none"}}
    )
    metadata = {
        "structurers": ", ".join(read) or "none",
        "gold_rows": 0 if gold is None else len(gold),
        "rows_by_cue": markdown(
            [*shown.columns], shown.itertuples(index=False), "none"
        ),
    }
    value = {
        "structuring_agreement": agreement_of_structurers(read, gold),
        "cue_counts": by_cue,
    }
    return dg.MaterializeResult(value=value, metadata=metadata)


@table_asset("corpus")
def findings(
    configuration: Configuration,
    keys: Keys,
    set_aside: Sequence[InvalidStudy] = (),
    **read: pd.DataFrame,
) -> Result:
    """Read and validate the registered files of a batch, or take in what was read in its raw reports."""
    batch = configuration.home.batch(*keys)
    delivery, settings = (
        configuration.home.delivery(batch.key),
        configuration.settings.corpus,
    )
    metadata: dict[str, str | int] = {"batch_sha256": batch.sha256}
    if read:
        if translated := translate_corrections(configuration.home, batch.key):
            metadata["corrections_with_new_ids"] = translated
        terms = read_terms(
            delivery.vocabulary, IntakeLog()
        )  # what is odd about it is in reading_notes
        received = Received(
            read["report_texts"], read["rejected_reports"], read["reading_notes"], terms
        )
        if configuration.judges.structurer == RULES:
            received = without_other_languages(received, NOT_ENGLISH)
        taken = take_in_structured(
            received, read["structured_findings"], settings, configuration.processes
        )
    else:
        taken = take_in(delivery, settings)
    tables = {table: getattr(taken, table) for table in RECIPES["findings"].tables}
    tables = without_studies(tables, studies_of(set_aside))
    accepted = tables["findings"]
    metadata["studies"] = int(accepted["study_id"].nunique())
    metadata["tentative"] = int(accepted["status"].isin(["tp", "tn"]).sum())
    return dg.MaterializeResult(value=tables, metadata=metadata)
