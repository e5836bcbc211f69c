"""A simulated panel that has fitted sentences, for the tests of what learns from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from simulation import Noise, SimulatedCorpus, simulated_corpus
from tentative_findings import finding, findings_frame

from lunguage_assets.explicit.distilled.answers import Answers
from lunguage_assets.explicit.distilled.collecting import panel_answers
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import HEDGE_PHRASES

SETTINGS = ExplicitSettings(repetitions=2, bootstrap=10, orders=2)
DIMENSIONS = 12


class World:
    """A simulated panel's fits of sentences: those of a simulated corpus, or `worded`
    ones of known mu.
    """

    def __init__(
        self, sentences: int = 150, worded: Sequence[tuple[str, float]] = ()
    ) -> None:
        self.corpus: SimulatedCorpus = simulated_corpus(
            3, phrases=8, examples=10, targets=sentences
        )
        if worded:
            truth = {**self.corpus.truth, **dict(worded)}
            targets = tuple(sentence for sentence, _ in worded)
            self.corpus = replace(self.corpus, truth=truth, targets=targets)
        targets = self.corpus.targets
        panel = self.panel = self.corpus.panel(2, Noise(reading=2.0))
        vocabulary = self.corpus.vocabulary
        self.matches = {
            judge.key: comparison_matches(vocabulary, judge, SETTINGS)
            for judge in panel
        }
        self.ranking = reference_ranking(vocabulary, self.matches, SETTINGS)
        rows = [
            finding(
                i,
                sent=target,
                masked_sentence=target,
                subject_id=f"p{10000000 + i // 2}",
            )
            for i, target in enumerate(targets)
        ]
        self.findings = findings_frame(rows)
        phrases_of_targets = [[f"hedge {i % 7}"] for i in range(len(targets))]
        self.hedges = HEDGE_PHRASES.frame(
            [
                hedge(row, phrases)
                for row, phrases in zip(rows, phrases_of_targets, strict=True)
            ]
        )
        made_of = (self.findings, self.hedges, vocabulary, self.ranking)
        self.tables = fit_pairs(*made_of, panel, self.corpus.anchors, SETTINGS)
        self.reference = ReferenceScale.from_tables(self.ranking, vocabulary)

    def answers(self, times: int = 1) -> Answers:
        """Those of the panel, as if so many batches had the same sentences."""
        tables = self.findings, self.tables.probabilities, self.tables.log
        return panel_answers(
            *(pd.concat([one] * times, ignore_index=True) for one in tables),
            self.matches,
            self.ranking,
        )

    def vectors(self, answers: Answers) -> np.ndarray:
        """Vectors of which one direction is the true certainty."""
        truth = np.array(
            [self.corpus.truth[sentence] for sentence in answers.sentences["sentence"]]
        )
        random = np.random.default_rng(0).normal(size=(len(truth), DIMENSIONS))
        random[:, 0] = (truth - 25.0) / 8.0
        return (
            random @ np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
        ).astype(np.float32)


def hedge(row: dict[str, object], phrases: list[str]) -> dict[str, object]:
    return {
        **{
            name: row[name]
            for name in ("finding_id", "study_id", "ent", "sent", "masked_sentence")
        },
        **{"phrases": phrases, "dropped": [], "answer_state": "valid"},
        **{"corrected": False, "needs_review": False, "review_reason": ""},
    }
