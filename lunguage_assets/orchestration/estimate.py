"""What `lunguage run` would ask and spend, found by running its explicit half in memory with rehearsal
judges; nothing is written or sent.

The order of the stages follows `orchestration/runs/runner.py`; what of a home is kept is in
`stored_results.py`, made-up answers in `judges/estimating/rehearsal.py`, arithmetic in
`judges/estimating/estimate.py`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.delivery import Delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.economy import fit_economically
from lunguage_assets.explicit.fit.fitting import Reference, fit_sentences
from lunguage_assets.explicit.fit.pairs import collect_pairs
from lunguage_assets.explicit.fit.probability import load_anchors, require_anchors
from lunguage_assets.explicit.hedges.amendments import newest_only
from lunguage_assets.explicit.hedges.hedging import hedge_phrases, load_corrections
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.home.home import Home, Registration
from lunguage_assets.judges.asking.budget import output_limit
from lunguage_assets.judges.binding_record import BindingRecord
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.judges.estimating.estimate import (
    Asked,
    Estimate,
    Line,
    PriceUsed,
    expected_reasoning,
    line,
    stage_minutes,
)
from lunguage_assets.judges.estimating.rehearsal import RUN_STAGES, RehearsalJudge
from lunguage_assets.judges.ledger.reading import LedgerReader
from lunguage_assets.judges.opening import make_judge
from lunguage_assets.judges.policy import preflight
from lunguage_assets.judges.prompts import load_prompts
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.slots import ModelSlot
from lunguage_assets.orchestration.stored_results import StoredResults
from lunguage_assets.settings import load_settings
from lunguage_assets.tables import HEDGE_PHRASES

_ASKS = {"hedge_phrases": "extract", "comparison_matches": "compare", "fitted_probabilities": "compare"}


@dataclass(frozen=True)
class Circumstances:
    """What a dry run needs besides home, delivery and judges; each as a run has it.

    Args:
        ledger: file or URL of the ledger.
        prompts: the user's own prompt templates, None for the bundled ones.
        environ: where the addresses of own servers are read.
        today: compared with the models' last days.
    """

    ledger: str | Path
    prompts: Path | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    today: date = field(default_factory=lambda: datetime.now(UTC).date())


def estimate_run(
    home: Home,
    registration: Registration,
    configuration: JudgesConfiguration,
    ranker: str,
    circumstances: Circumstances,
    *,
    rebuild: bool = False,
    others: Collection[str] = (),
) -> Estimate:
    """Calls, tokens, dollars and minutes of `lunguage run` for one batch and ranker, before anything is
    spent.

    Args:
        home: need not exist.
        registration: of the batch, as `Home.examine` returns it.
        configuration: with the preset active.
        ranker: `panel` or one judge.
        circumstances: ledger, prompts, environment, date.
        rebuild: as with `--rebuild-ranking`.
        others: batches about which a run would ask again, as the record of runs tells, whatever their tables
            look like.

    Raises:
        LunguageError: what would stop the run before its first question: an unknown ranker, unusable files,
            settings or templates.
    """
    run = _DryRun(home, registration, configuration, ranker, circumstances, others)
    if run.models:
        run.rehearse(rebuild)
    else:
        take_in(registration.delivery, run.settings.corpus)  # unusable files would stop an offline run too
        run.remarks.append(
            "No language model is asked: the judges are rule-based and run in this process. It costs nothing."
        )
    return run.estimate()


class _DryRun:
    """The stages in order, and what they counted."""

    def __init__(
        self,
        home: Home,
        registration: Registration,
        configuration: JudgesConfiguration,
        ranker: str,
        circumstances: Circumstances,
        others: Collection[str],
    ) -> None:
        self.home, self.registration, self.configuration, self.ranker = (
            home,
            registration,
            configuration,
            ranker,
        )
        self.circumstances, self.settings = circumstances, load_settings(home.settings_file)
        self.anew = {registration.batch.key, *others}
        self.members = configuration.members(ranker)
        self.keys = tuple(dict.fromkeys((configuration.extractor, *self.members)))
        for key in self.keys:
            BindingRecord(home.binding_file).require(key, configuration.judges[key])
        self.models: dict[str, ModelSlot] = {
            key: slot for key, slot in configuration.models.items() if key in self.keys
        }
        self.recorded = LedgerReader.at(circumstances.ledger) if self.models else None
        prompts = load_prompts(circumstances.prompts)
        self.rehearsed = {
            key: RehearsalJudge(key, slot, prompts, self.recorded) for key, slot in self.models.items()
        }
        self.judges: dict[str, Judge] = {
            key: self.rehearsed.get(key) or make_judge(key, configuration) for key in self.keys
        }
        self.deliveries = _deliveries(home, registration)
        self.findings: dict[str, pd.DataFrame] = {}
        self.hedges: dict[str, pd.DataFrame] = {}
        self.sentences: dict[str, int] = {}
        self.remarks: list[str] = []
        self.pairs, self.phrases, self.ruler, self.steps = 0, 0, "", list[int]()

    def rehearse(self, rebuild: bool) -> None:
        """Everything that asks a judge, batch by batch as a run does it."""
        stored = StoredResults(
            self.home,
            self.configuration.extractor,
            self.ranker,
            {key: self.judges[key].identity for key in self.members},
        )
        kept_vocabulary, kept_ranking = (None, None) if rebuild else stored.stick(self.settings.explicit)
        for batch in self.deliveries:
            if batch in self.anew or stored.is_pending(batch, kept_ranking):
                self._extract(batch)
            elif (phrases := stored.hedge_phrases(batch)) is not None:
                self.hedges[batch] = phrases
        vocabulary = self._vocabulary() if kept_vocabulary is None else kept_vocabulary
        self.phrases, self.ruler = int(vocabulary["retained"].sum()), str(vocabulary["ruler"].iloc[0])
        ranking = self._ranking(vocabulary) if kept_ranking is None else kept_ranking
        reference = Reference.of(ranking, vocabulary)
        for batch in self.hedges:  # a new ranking makes every batch pending
            if kept_ranking is None or batch in self.anew or stored.is_pending(batch, kept_ranking):
                self._fit(batch, reference)

    def _extract(self, batch: str) -> None:
        extractor = self.judges[self.configuration.extractor]
        self.hedges[batch] = hedge_phrases(
            self._findings(batch), extractor, load_corrections(self.home.corrections_file)
        )

    def _vocabulary(self) -> pd.DataFrame:
        hedges = newest_only(self.hedges, list(self.deliveries))
        vocabulary = hedge_vocabulary(
            HEDGE_PHRASES.frame() if hedges is None else hedges, self.settings.explicit
        )
        try:
            require_anchors(
                set(vocabulary.loc[vocabulary["retained"], "phrase"]), load_anchors(self.home.anchor_ratings)
            )
        except MethodError as error:
            self.remarks.append(
                f"With phrases like those of this rehearsal a run would stop before the comparisons: {error}"
            )
        return vocabulary

    def _ranking(self, vocabulary: pd.DataFrame) -> pd.DataFrame:
        matches = {
            key: comparison_matches(vocabulary, self.judges[key], self.settings.explicit)
            for key in self.members
        }
        without_intervals = self.settings.explicit.model_copy(update={"bootstrap": 0})  # no fit asks for them
        return reference_ranking(vocabulary, matches, without_intervals)

    def _fit(self, batch: str, reference: Reference) -> None:
        pairs = collect_pairs(self._findings(batch), self.hedges[batch])
        sentences = sorted({pair.masked_sentence for pair in pairs if pair.masked_sentence is not None})
        fit = fit_economically if self.settings.explicit.fit == "economy" else fit_sentences
        fits = fit(sentences, reference, [self.judges[key] for key in self.members], self.settings.explicit)
        self.pairs += len(pairs)
        self.sentences[batch] = len(sentences)
        self.steps += (fits.steps + fits.void).tolist()

    def _findings(self, batch: str) -> pd.DataFrame:
        if batch not in self.findings:
            self.findings[batch] = take_in(self.deliveries[batch], self.settings.corpus).findings
        return self.findings[batch]

    def estimate(self) -> Estimate:
        """What was counted, with prices."""
        asked = self._asked()
        lines = tuple(line(one) for one in asked)
        self._remark([one for one in lines if one.calls])
        prices = (
            (key, slot.model, slot.price) for key, slot in self.models.items() if slot.price is not None
        )
        return Estimate(
            preset=self.configuration.preset,
            ranker=self.ranker,
            batches=tuple(self.findings) or (self.registration.batch.key,),
            reports=sum(frame["study_id"].nunique() for frame in self.findings.values()),
            pairs=self.pairs,
            sentences=sum(self.sentences.values()),
            phrases=self.phrases,
            ruler=self.ruler,
            steps=sum(self.steps) / len(self.steps) if self.steps else None,
            lines=lines,
            minutes={
                stage: stage_minutes([one for one in asked if one.stage == stage]) for stage in RUN_STAGES
            },
            prices=tuple(
                PriceUsed(key, model, price.input, price.output, price.as_of.isoformat())
                for key, model, price in prices
            ),
            remarks=tuple(self.remarks),
        )

    def _asked(self) -> list[Asked]:
        """Every judge in every stage that would ask it, in the order of the stages."""
        found = []
        for stage in RUN_STAGES:
            for key, judge in self.rehearsed.items():
                if tally := judge.tallies.get(stage):
                    experience = (
                        self.recorded.experience(key, _ASKS[stage], self.models[key].model)
                        if self.recorded
                        else None
                    )
                    at_most = self._steps_at_most() if stage == "fitted_probabilities" else tally.open
                    found.append(Asked(stage, key, self.models[key], tally, experience, at_most))
        return found

    def _steps_at_most(self) -> int:
        """Answers of one judge when every fit takes all its steps; those after the panel's are shared
        evenly.
        """
        options, judges = self.settings.explicit, len(self.members)
        steps = min(options.step_limit, options.opponent_limit * self.phrases)
        if options.fit == "economy":
            together = steps = min(
                steps, options.economy_rounds * math.ceil(options.economy_answers / judges)
            )
        else:
            together = min(options.panel_steps, steps)
        return round(sum(self.sentences.values()) * (together + (steps - together) / judges))

    def _remark(self, asked: Sequence[Line]) -> None:
        """What is unknown of the judges that would be asked, and what would stop the run."""
        guessed = {one.judge for one in asked if one.basis == "assumed"}
        for key in dict.fromkeys(one.judge for one in asked):
            slot = self.models[key]
            if slot.price is None:
                self.remarks.append(
                    f"judge {key!r} has no price in the judges file: its tokens are counted, its "
                    "dollars are not known."
                )
            if slot.batch_allowed:
                self.remarks.append(
                    f"judge {key!r} uses its batch endpoint for all but the fits: at its batch "
                    "price, up to a day, not in the minutes."
                )
            if waiting := self.recorded.out_in_batches(key) if self.recorded else 0:
                self.remarks.append(
                    f"judge {key!r} has {waiting} questions out in batches already; they are "
                    "counted as still to be asked."
                )
            if output_limit(slot.binding) is None:
                self.remarks.append(
                    f"judge {key!r} has no limit on output tokens in its parameters: its worst "
                    "case is not known."
                )
            if key in guessed and expected_reasoning(slot):
                self.remarks.append(
                    f"judge {key!r} may think before it answers: how much is a guess until the "
                    "ledger has its answers."
                )
            around, data_class = self.circumstances, self.registration.corpus.data_class
            for problem in preflight(key, slot, around.environ, data_class, around.today):
                what = "A run would be refused" if problem.severity == "refusal" else "Warning"
                self.remarks.append(f"{what}: {problem.message}")


def _deliveries(home: Home, registration: Registration) -> dict[str, Delivery]:
    """Every batch of the home after the registration, oldest first."""
    known = {batch.key: home.delivery(batch.key) for batch in home.registered()}
    return {**known, registration.batch.key: registration.delivery} if registration.is_new else known
