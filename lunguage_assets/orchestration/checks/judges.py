"""Checks of the judges: will they answer when they are asked next, and do they agree as judges usually do.

Nothing is sent. They warn: what is stored stays right.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime

import dagster as dg
import pandas as pd

from lunguage_assets.errors import InvalidTable, LunguageError
from lunguage_assets.explicit.hedges.hedging import load_corrections
from lunguage_assets.home.store import partition_path, read_table
from lunguage_assets.judges.ledger.ledger import LedgerError
from lunguage_assets.judges.prompts import load_prompts
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.orchestration.checks.report import markdown, partition_keys, result, where_stored
from lunguage_assets.orchestration.partitions import Partitions, partition_of
from lunguage_assets.orchestration.resources import HomeResource, ledger_place, prompts_folder
from lunguage_assets.orchestration.withheld import asset_check
from lunguage_assets.quality.agreement_band import measured_agreement
from lunguage_assets.quality.judge_health import (
    Circumstances,
    Sign,
    WatchedLedger,
    open_comparisons,
    open_extractions,
    signs_of,
)
from lunguage_assets.tables import FINDINGS, HEDGE_VOCABULARY

ALIVE = (
    "The model is served and will be for a while, answers under its own name, and can be "
    "asked whatever is still open. Nothing is sent."
)


def judge_checks(partitions: Partitions) -> list[dg.AssetChecksDefinition]:
    @asset_check(
        asset=dg.AssetKey("hedge_phrases"),
        name="judge_alive",
        description=ALIVE,
        partitions_def=partitions.of("hedge_phrases"),
    )
    def extractor_alive(
        context: dg.AssetCheckExecutionContext, home: HomeResource, frame: pd.DataFrame
    ) -> dg.AssetCheckResult:
        keys = partition_keys(context, "hedge_phrases")

        def still_open(key: str, slot: ModelSlot, ledger: WatchedLedger | None) -> int | None:
            path = partition_path(home.home.tables, "findings", keys["report_batch"])
            findings = read_table(FINDINGS, path)
            return open_extractions(
                findings,
                key,
                slot,
                load_prompts(prompts_folder()),
                ledger,
                load_corrections(home.home.corrections_file),
            )

        return _alive(context, home, keys["judge"], still_open)

    @asset_check(
        asset=dg.AssetKey("comparison_matches"),
        name="judge_alive",
        description=ALIVE,
        partitions_def=partitions.of("comparison_matches"),
    )
    def judge_alive(
        context: dg.AssetCheckExecutionContext, home: HomeResource, frame: pd.DataFrame
    ) -> dg.AssetCheckResult:
        def still_open(key: str, slot: ModelSlot, ledger: WatchedLedger | None) -> int | None:
            path = partition_path(home.home.tables, "hedge_vocabulary", home.judges.extractor)
            vocabulary = read_table(HEDGE_VOCABULARY, path)
            return open_comparisons(
                vocabulary, key, slot, load_prompts(prompts_folder()), ledger, home.settings.explicit
            )

        return _alive(context, home, partition_of(context), still_open)

    @asset_check(
        asset=dg.AssetKey("judge_agreement"),
        name="agreement_usual",
        description="Judges agree about as much as independent, competent judges do; the paper's stand "
        "beside.",
        partitions_def=partitions.of("judge_agreement"),
    )
    def agreement_usual(
        context: dg.AssetCheckExecutionContext, home: HomeResource, frame: pd.DataFrame
    ) -> dg.AssetCheckResult:
        lines = measured_agreement(frame, home.settings.checks)
        outside = [line for line in lines if line.remedy]
        return result(
            context,
            not outside,
            {
                "compared": len(lines),
                "outside": len(outside),
                "report": markdown(
                    ["measure", "judges", "value", "95% interval", "usual", "paper", "what to do"],
                    (
                        (e.measure, e.judges, e.value, e.interval, e.usual, e.published, e.remedy)
                        for e in lines
                    ),
                    "No two judges answered the same questions: there is nothing to compare.",
                ),
                **where_stored(context, home.home, "judge_agreement"),
            },
            " ".join(dict.fromkeys(line.remedy for line in outside)),
        )

    return [extractor_alive, judge_alive, agreement_usual]


def _alive(
    context: dg.AssetCheckExecutionContext,
    home: HomeResource,
    key: str,
    still_open: Callable[[str, ModelSlot, WatchedLedger | None], int | None],
) -> dg.AssetCheckResult:
    slot = home.judges.judges[key]
    if not isinstance(slot, ModelSlot):
        return result(context, True, {"judge": key, "note": "Rule-based: no network, no key, no end."}, "")
    signs = _signs(home, key, slot, still_open)
    wrong = [sign for sign in signs if not sign.well]
    return result(
        context,
        not wrong,
        {
            "judge": key,
            "model": slot.model,
            "report": markdown(
                ["looked at", "found", "what to do"],
                ((sign.looked_at, sign.found, "" if sign.well else sign.remedy) for sign in signs),
            ),
        },
        " ".join(sign.remedy for sign in wrong),
    )


def _signs(
    home: HomeResource,
    key: str,
    slot: ModelSlot,
    still_open: Callable[[str, ModelSlot, WatchedLedger | None], int | None],
) -> list[Sign]:
    settings, corpus = home.settings.checks, home.home.corpus()
    unusable: list[Sign] = []
    ledger, count = None, None
    try:
        ledger = WatchedLedger.at(ledger_place(home.home))
        recent = ledger.recent_calls(key, slot, settings.recent_calls) if ledger is not None else None
    except LedgerError as error:
        recent = None
        unusable.append(
            Sign(
                "the ledger",
                str(error),
                False,
                "Make the ledger readable where runs are executed, or name another place.",
            )
        )
    try:
        count = None if unusable else still_open(key, slot, ledger)
    except (FileNotFoundError, InvalidTable):
        pass  # what would be asked is not stored: it is not known
    except LunguageError as error:
        unusable.append(
            Sign(
                "what would be asked",
                str(error),
                False,
                "Mend the file that is named; a run would stop there too.",
            )
        )
    around = Circumstances(
        data_class=corpus.data_class if corpus is not None else "credentialed",
        today=datetime.now(UTC).date(),
        environ=dict(os.environ),
        open_questions=count,
        recent=recent,
    )
    return [*unusable, *signs_of(key, slot, around, settings)]
