"""What a run would ask and spend: the steps of the explicit half, executed with rehearsal judges.

The plan and the steps are those of a run; a rehearsed home keeps tables in memory. Made-up answers are in
`judges/estimating/rehearsal.py`, arithmetic in `judges/estimating/estimate.py`.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime

import dagster as dg
import pandas as pd

from lunguage_assets.corpus.intake import take_in
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.current.plan import STEPS_OF_JOB, Wanted, plan
from lunguage_assets.explicit.fit.pairs import collect_pairs, sentence_key
from lunguage_assets.home.home import Registration
from lunguage_assets.home.store import partition_path, publish_table, read_table
from lunguage_assets.judges.asking.budget import output_limit
from lunguage_assets.judges.estimating.estimate import (
    Asked,
    Estimate,
    EstimateLine,
    PriceUsed,
    expected_reasoning,
    line,
    stage_minutes,
)
from lunguage_assets.judges.estimating.rehearsal import RUN_STAGES
from lunguage_assets.judges.policy import preflight
from lunguage_assets.orchestration.assets.groups import COMPUTES
from lunguage_assets.orchestration.assets.step import made
from lunguage_assets.orchestration.partitions import accept_previews
from lunguage_assets.orchestration.rehearsed_home import STEPS, RehearsedHome, rehearsed
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.tables import TABLES

_ASKS = {
    "structured_findings": "structure",
    "hedge_phrases": "extract",
    "comparison_matches": "compare",
    "fitted_probabilities": "compare",
}


def estimate_run(
    home: HomeResource,
    registration: Registration | Sequence[Registration],
    ranker: str,
    *,
    rebuild: bool = False,
    environ: Mapping[str, str] | None = None,
    today: date | None = None,
) -> Estimate:
    """Calls, tokens, dollars and minutes of `lunguage run`, before anything is spent.

    Args:
        home: need not exist.
        registration: of the batch or batches, as `Home.examine` returns them.
        ranker: `panel` or one judge.
        rebuild: as with `--rebuild-ranking`.
        environ: where the addresses of own servers are read; None: of this process.
        today: compared with the models' last days; None: today.

    Raises:
        LunguageError: what would stop the run before its first question: unusable files, settings, templates.
    """
    wanted = [registration] if isinstance(registration, Registration) else registration
    with rehearsed(home, wanted, ranker) as place:
        rehearsal = _Rehearsal(place, ranker, environ or os.environ, today or datetime.now(UTC).date())
        if place.models:
            rehearsal.execute(rebuild)
        else:
            # unusable files would stop an offline run too
            for one in wanted:
                read = receive if one.batch.kind == "text" else take_in
                read(one.delivery, place.settings.corpus)
            place.remarks.append(
                "No language model is asked: the judges are rule-based and run in this process. It costs "
                "nothing."
            )
        return rehearsal.estimate()


class _Rehearsal:
    """The stages of a plan, executed, and what they counted.

    A sentence of several batches is fitted in each, and paid for once.
    """

    def __init__(self, home: RehearsedHome, ranker: str, environ: Mapping[str, str], today: date) -> None:
        self.home, self.ranker, self.environ, self.today = home, ranker, environ, today
        self.configuration, self.settings, self.models = home.judges, home.settings, home.models
        self.pairs, self.phrases, self.ruler, self.ruler_reason = 0, 0, "", ""
        self.steps = dict[str, int]()  # of the fit, by sentence
        self.reports = dict[str, int]()  # by batch

    def execute(self, rebuild: bool) -> None:
        """Make what a run would make of the explicit half."""
        accept_previews()
        place, log = self.home.home.tables, logging.getLogger(__name__)
        for stage in plan(self.home.standings(), Wanted(self.ranker, rebuild=rebuild)):
            for step in STEPS_OF_JOB[stage.job]:
                if step not in STEPS:
                    continue
                for output in made(step, COMPUTES[step], self.home, stage.keys, log):
                    if isinstance(output, dg.Output):
                        publish_table(output.value, partition_path(place, output.output_name, *stage.keys))
                if step in ("extraction", "fitting"):
                    batch = stage.keys[-1]
                    self.reports[batch] = self._table("findings", batch)["study_id"].nunique()
                if step == "fitting":
                    self._count_fits(batch)
        vocabulary = self._table("hedge_vocabulary", self.configuration.extractor)
        self.phrases = int(vocabulary["retained"].sum())
        self.ruler, self.ruler_reason = (str(vocabulary[name].iloc[0]) for name in ("ruler", "ruler_reason"))

    def _count_fits(self, batch: str) -> None:
        phrases = self._table("hedge_phrases", self.configuration.extractor, batch)
        pairs = collect_pairs(self._table("findings", batch), phrases)
        fitted = self._table("fitted_probabilities", self.ranker, batch)
        steps_of = dict(zip(fitted["finding_id"], fitted["steps"], strict=True))
        self.pairs += len(pairs)
        for pair in pairs:
            if pair.masked_sentence is not None:  # else the finding is not in its sentence: nothing is asked
                self.steps[sentence_key(pair.masked_sentence)] = int(steps_of[pair.finding_id])

    def _table(self, table: str, *keys: str) -> pd.DataFrame:
        return read_table(TABLES[table], partition_path(self.home.home.tables, table, *keys))

    def estimate(self) -> Estimate:
        """What was counted, with prices."""
        asked = self._asked()
        lines = tuple(line(one) for one in asked)
        remarks = [*self.home.remarks, *self._remarks([one for one in lines if one.calls])]
        prices = {key: (slot.model, slot.price) for key, slot in self.models.items()}
        steps = self.steps.values()
        return Estimate(
            preset=self.configuration.preset,
            ranker=self.ranker,
            batches=tuple(self.reports or (one.batch.key for one in self.home.home.registrations)),
            reports=sum(self.reports.values()),
            pairs=self.pairs,
            sentences=len(steps),
            phrases=self.phrases,
            ruler=self.ruler,
            ruler_reason=self.ruler_reason,
            steps=sum(steps) / len(steps) if steps else None,
            lines=lines,
            minutes={
                stage: stage_minutes([one for one in asked if one.stage == stage]) for stage in RUN_STAGES
            },
            prices=tuple(
                PriceUsed(key, model, price.input, price.output, price.as_of.isoformat())
                for key, (model, price) in prices.items()
                if price is not None
            ),
            remarks=tuple(dict.fromkeys(remarks)),
        )

    def _asked(self) -> list[Asked]:
        """Every judge in every stage that would ask it, in the order of the stages."""
        recorded, found = self.home.recorded, []
        for stage in RUN_STAGES:
            for key, tally in self.home.tallies(stage).items():
                slot = self.models[key]
                experience = recorded.experience(key, _ASKS[stage], slot.model) if recorded else None
                at_most = self._steps_at_most() if stage == "fitted_probabilities" else tally.open
                found.append(Asked(stage, key, slot, tally, experience, at_most))
        return found

    def _steps_at_most(self) -> int:
        """Answers of one judge when every fit takes all its steps; those after the panel's are shared
        evenly.
        """
        options, judges = self.settings.explicit, len(self.configuration.members(self.ranker))
        steps = min(options.step_limit, options.opponent_limit * self.phrases)
        together = min(options.panel_steps, steps)
        if options.fit == "economy":
            answers = options.economy_rounds * math.ceil(options.economy_answers / judges)
            together = steps = min(steps, answers)
        return round(len(self.steps) * (together + (steps - together) / judges))

    def _remarks(self, asked: Sequence[EstimateLine]) -> Iterator[str]:
        """What is unknown of the judges that would be asked, and what would stop the run."""
        for one in asked:
            yield from _too_little_room(one, output_limit(self.models[one.judge].binding))
        guessed = {one.judge for one in asked if one.basis == "assumed"}
        for key in dict.fromkeys(one.judge for one in asked):
            slot = self.models[key]
            if slot.price is None:
                yield (
                    f"judge {key!r} has no price in the judges file: its tokens are counted, its dollars are "
                    "not known."
                )
            if output_limit(slot.binding) is None:
                yield (
                    f"judge {key!r} has no limit on output tokens in its parameters: its worst case is not "
                    "known."
                )
            if key in guessed and expected_reasoning(slot):
                yield (
                    f"judge {key!r} may think before it answers: how much is a guess until the ledger has "
                    "its answers."
                )
            data_class = self.home.home.registrations[0].corpus.data_class
            for problem in preflight(key, slot, self.environ, data_class, self.today):
                what = "A run would be refused" if problem.severity == "refusal" else "Warning"
                yield f"{what}: {problem.message}"


def _too_little_room(one: EstimateLine, limit: int | None) -> Iterator[str]:
    """What to do when a judge may not answer at the length at which a report is structured."""
    wanted = one.output_tokens // one.calls
    if one.stage == "structured_findings" and limit is not None and wanted > limit:
        yield (
            f"judge {one.judge!r} may answer with {limit} tokens at most, and the findings of a report take "
            f"about {wanted:,}: most reports would be unreadable. Name a structurer with more room in its "
            "parameters."
        )
