"""A simulated panel that has fitted sentences, for the tests of what learns from it."""

from __future__ import annotations

import pandas as pd
from simulation import Noise, simulated_corpus
from stored_tables import plain_row
from tentative_findings import finding, findings_frame

from lunguage_assets.explicit.distilled.learning import panel_scores
from lunguage_assets.explicit.fitted_findings import fit_pairs
from lunguage_assets.explicit.ranking import comparison_matches, reference_ranking
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import HEDGE_PHRASES

SETTINGS = ExplicitSettings(repetitions=2, bootstrap=10, orders=2)


class World:
    """A simulated panel's fits of the sentences of a simulated corpus."""

    def __init__(self, sentences: int = 120) -> None:
        corpus = simulated_corpus(3, phrases=8, examples=10, targets=sentences)
        self.truth = corpus.truth
        panel = corpus.panel(2, Noise(reading=2.0))
        self.vocabulary = corpus.vocabulary
        matches = {
            judge.key: comparison_matches(self.vocabulary, judge, SETTINGS)
            for judge in panel
        }
        self.ranking = reference_ranking(self.vocabulary, matches, SETTINGS)
        rows = [
            finding(i, sent=f"of sentence {i // 2}", masked_sentence=target)
            for i, target in enumerate(corpus.targets)
        ]
        self.findings = findings_frame(rows)
        self.hedges = HEDGE_PHRASES.frame(
            [hedge(row, [f"target {str(i)[0]}"]) for i, row in enumerate(rows)]
        )
        self.anchors = corpus.anchors
        self.settings = SETTINGS
        made_of = (self.findings, self.hedges, self.vocabulary, self.ranking)
        self.tables = fit_pairs(*made_of, panel, corpus.anchors, SETTINGS)

    def panel_scores(self) -> pd.DataFrame:
        """The panel's scores of all sentences."""
        return panel_scores(self.findings, self.tables.probabilities, self.ranking)


def hedge(row: dict[str, object], phrases: list[str]) -> dict[str, object]:
    same = ("finding_id", "study_id", "ent", "sent", "masked_sentence")
    values = {name: row[name] for name in same}
    return plain_row(HEDGE_PHRASES, **values, phrases=phrases, answer_state="valid")
