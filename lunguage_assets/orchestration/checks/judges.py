"""Checks of the judges: how have they been doing, and do they agree as judges usually do.

Nothing is sent. They warn: what is stored stays right.
"""

from datetime import UTC, datetime

from lunguage_assets.judges.ledger.reading import LedgerError
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.orchestration.checks.look import Check, Found, Look, check
from lunguage_assets.orchestration.metadata import markdown
from lunguage_assets.quality.agreement_band import measured_agreement
from lunguage_assets.quality.judge_calls import last_day, recent_calls

ALIVE = (
    "The model is served and will be for a while, its calls come through, and it answers under its own name. "
    "Nothing is sent; `lunguage doctor` says more."
)


def _alive(look: Look) -> Found:
    key = look.keys["judge"]
    slot = look.resource.judges.judges[key]
    if not isinstance(slot, ModelSlot):
        return Found(True, {"judge": key, "note": "Rule-based: no network, no key, no end."})
    try:
        calls = recent_calls(key, slot, look.resource.ledger_place, look.limits)
    except LedgerError as error:
        return Found(
            False,
            {"judge": key, "note": str(error)},
            "Make the ledger readable where runs are executed, or name another place.",
        )
    found = [last_day(key, slot, datetime.now(UTC).date()), *calls]
    report = markdown(
        ["looked at", "found", "what to do"], ((sign.looked_at, sign.found, sign.remedy) for sign in found)
    )
    remedy = " ".join(sign.remedy for sign in found if sign.remedy)
    return Found(not remedy, {"judge": key, "model": slot.model, "report": report}, remedy)


extractor_alive = Check("hedge_phrases", "judge_alive", ALIVE, _alive)
judge_alive = Check("comparison_matches", "judge_alive", ALIVE, _alive)


@check(
    "judge_agreement",
    "agreement_usual",
    "Judges agree about as much as independent, competent judges do; the paper's stand beside.",
)
def agreement_usual(look: Look) -> Found:
    lines = measured_agreement(look.table("judge_agreement"), look.limits)
    outside = [line for line in lines if line.remedy]
    return Found(
        not outside,
        {
            "compared": len(lines),
            "outside": len(outside),
            "report": markdown(
                ["measure", "judges", "value", "95% interval", "usual", "paper", "what to do"],
                ((e.measure, e.judges, e.value, e.interval, e.usual, e.published, e.remedy) for e in lines),
                "No two judges answered the same questions: there is nothing to compare.",
            ),
        },
        " ".join(dict.fromkeys(line.remedy for line in outside)),
    )
