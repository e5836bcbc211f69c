"""From findings to probabilities, implied findings, resolved rows and labels, without a home.

The stages are those of a run, with the bundled judges, the published ruler, the packaged pathways and lists
and the default settings: what a home without files of its own uses with `ruler = "published"`. What its files
say is read once and kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.explicit.fit.anchors import published_anchors
from lunguage_assets.explicit.fit.fitting import fit_pairs
from lunguage_assets.explicit.fit.probability import Anchor
from lunguage_assets.explicit.hedges.hedging import hedge_phrases
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.implicit.encoders.contract import Embedder
from lunguage_assets.implicit.encoders.lexical import LexicalEmbedder
from lunguage_assets.implicit.expansion.expand import Expansion, expand
from lunguage_assets.implicit.merging.blacklist import Blacklist, load_blacklist
from lunguage_assets.implicit.merging.deduplicate import deduplicate
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary, load_dictionary
from lunguage_assets.implicit.resolution.accounting import account
from lunguage_assets.implicit.resolution.guarantees import refuse_violations
from lunguage_assets.implicit.resolution.resolve import Resolution, resolve
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.release.labels.labels import study_labels
from lunguage_assets.settings import Settings, load_settings
from lunguage_assets.tables import HEDGE_PHRASES, TERMS

EXTRACTOR, PANEL = "lexicon", ("lexicon", "cues")
"""Judges of the bundled preset `offline`, in panel order."""


@dataclass(frozen=True)
class Outcome:
    """What the method makes of some reports: tables of a run, in memory."""

    hedges: pd.DataFrame
    expansion: Expansion
    resolution: Resolution
    labels: pd.DataFrame


@dataclass(frozen=True)
class Method:
    """Judges, ruler, lists and settings, read once; `of` applies them."""

    settings: Settings
    vocabulary: Vocabulary
    extractor: Judge
    panel: Sequence[Judge]
    phrases: pd.DataFrame
    ranking: pd.DataFrame
    anchors: Sequence[Anchor]
    embedder: Embedder
    blacklist: Blacklist
    dictionary: PathwayDictionary
    labels: LabelList

    def of(self, findings: pd.DataFrame, reports: pd.DataFrame, rejected: pd.DataFrame) -> Outcome:
        """Apply the method to FINDINGS, with the REPORTS and REJECTED of the same studies.

        Raises:
            InvalidTable: a guarantee of the resolution does not hold (implicit.md section 5).
        """
        hedges = hedge_phrases(findings, self.extractor)
        fitted = fit_pairs(
            findings, hedges, self.phrases, self.ranking, self.panel, self.anchors, self.settings.explicit
        ).probabilities
        merged = deduplicate(findings, fitted, self.embedder, self.blacklist, self.settings.implicit)
        expansion = expand(merged, self.dictionary, self.vocabulary)
        version = str(self.ranking["ranking_version"].iloc[0])
        resolution = resolve(merged, expansion, self.dictionary, version, blacklist=self.blacklist)
        accounts = account(reports, rejected, merged, expansion, resolution)
        refuse_violations(resolution.rows, accounts, reports)
        labels = study_labels(resolution.rows, expansion.matches, reports, self.labels, resolution.log)
        return Outcome(hedges, expansion, resolution, labels)


@lru_cache(maxsize=1)
def bundled_method() -> Method:
    """The packaged method with the published ruler.

    Raises:
        ConfigurationError: a packaged file was edited and cannot be used; the message names it.
    """
    packaged = load_settings()
    settings = packaged.model_copy(
        update={"explicit": packaged.explicit.model_copy(update={"ruler": "published", "fit_log": False})}
    )
    vocabulary = Vocabulary.from_terms(TERMS.frame())
    judges: dict[str, Judge] = {
        "lexicon": LexiconJudge.bundled("lexicon"),
        "cues": CuesJudge.bundled("cues"),
    }
    panel = [judges[key] for key in PANEL]
    phrases = hedge_vocabulary(HEDGE_PHRASES.frame(), settings.explicit)
    nothing_played = dict.fromkeys(PANEL, pd.DataFrame())
    identities = [judge.identity for judge in panel]
    return Method(
        settings,
        vocabulary,
        judges[EXTRACTOR],
        panel,
        phrases,
        reference_ranking(phrases, nothing_played, settings.explicit, identities),
        published_anchors(),
        LexicalEmbedder(vocabulary),
        load_blacklist(),
        load_dictionary(None, vocabulary),
        load_label_list(),
    )
