"""Fingerprints of what a step reads besides tables: settings, files that a person may edit, judges.

Each has a name that a person knows, because the name is the reason shown for a stale table. A change of one
option changes only the fingerprints of the steps that read this option.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path

from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.home.home import Home
from lunguage_assets.home.record import fingerprint
from lunguage_assets.home.store import partition_path, read_table
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.settings import Settings, load_settings
from lunguage_assets.structuring.text.read import identity as text_rules
from lunguage_assets.tables import FINDINGS

CORPUS_OPTIONS = frozenset({"default_view"})
VOCABULARY_OPTIONS = frozenset({"ruler", "ruler_minimum", "minimum_examples"})
COMPARISON_OPTIONS = frozenset({"seed", "repetitions", "position"})
RANKING_OPTIONS = frozenset({"seed", "orders", "bootstrap"})
FIT_OPTIONS = frozenset(
    {
        "seed", "position", "opponent_limit", "panel_steps", "patience", "step_limit",
        "fit", "fit_log", "economy_sd", "economy_answers", "economy_rounds",
    }
)  # fmt: skip
MERGE_OPTIONS = frozenset({"merge_threshold", "history", "mode"})

NOTHING = "none"


class Reads:
    """Fingerprints for one home and one judges configuration; each is read when it is asked for, and then
    kept.

    Args:
        home: settings, batches and edited files are read there.
        judges: the configuration in force.
        prompts: folder of the user's own prompt templates; None: the bundled ones.
    """

    def __init__(self, home: Home, judges: JudgesConfiguration, prompts: Path | None = None) -> None:
        self._home, self._judges, self._prompts = home, judges, prompts
        self._identity = cache(self._read_identity)
        self._structurer_identity = cache(self._read_structurer_identity)
        self._of_home: Mapping[str, Callable[[], str]] = {
            "corpus settings": lambda: fingerprint(
                self.settings.corpus.model_dump(include=set(CORPUS_OPTIONS))
            ),
            "text rules": text_rules,
            "terms": lambda: _of_file(resource("terms.yaml")),
            "vocabulary settings": lambda: self._explicit(VOCABULARY_OPTIONS),
            "comparison settings": lambda: self._explicit(COMPARISON_OPTIONS),
            "ranking settings": lambda: self._explicit(RANKING_OPTIONS),
            "fit settings": lambda: self._explicit(FIT_OPTIONS),
            "merge settings": lambda: fingerprint(
                self.settings.implicit.model_dump(include=set(MERGE_OPTIONS))
            ),
            "readings": lambda: _of_file(resource("readings.toml")),
            "anchors": self._anchors,
            "encoder": self._encoder,
            "blacklist": lambda: _of_file(home.blacklist_file or resource("blacklist.yaml")),
            "pathways": lambda: _of_file(home.pathways_file or resource("pathways.yaml")),
            "labels": lambda: _of_file(resource("labels.yaml")),
            "gold findings": lambda: _of_file(home.gold_findings),
            "statements": lambda: _of_file(resource("statements.yaml")),
            "expert responses": lambda: _of_file(home.expert_responses) + _of_file(home.expert_descriptions),
            "outcomes": lambda: _of_file(home.outcomes),
            "split": lambda: _of_file(home.split_file),
            "release settings": lambda: fingerprint(
                self.settings.release.model_dump(include={"small_cells"})
            ),
        }
        self._cached = cache(lambda name: self._of_home[name]())

    @cached_property
    def settings(self) -> Settings:
        """The home's settings."""
        return load_settings(self._home.settings_file)

    def of(self, name: str, keys: Mapping[str, str]) -> str:
        """Fingerprint of what `name` stands for, for a partition.

        Args:
            name: as in a recipe's `reads`.
            keys: partition key by dimension.

        Raises:
            LunguageError: the file or the judge cannot be used.
        """
        if name == "judge":
            return self._identity(keys["judge"])
        if name == "structurer":
            return self._structurer_identity(keys["structurer"])
        if name == "extractor":
            return self._identity(self._judges.extractor)
        if name == "members":
            return fingerprint([self._identity(judge) for judge in self._judges.members(keys["ranker"])])
        if name == "delivery":
            return self._home.batch(keys["report_batch"]).sha256
        if name == "corrections":
            return self._corrections_of(keys["report_batch"])
        return str(self._cached(name))

    def _read_identity(self, judge: str) -> str:
        from lunguage_assets.judges.binding_record import BindingRecord
        from lunguage_assets.judges.opening import judge_identity

        found = judge_identity(judge, self._judges, self._prompts)
        BindingRecord(self._home.binding_file).require(judge, self._judges.judges[judge])
        return found

    def _read_structurer_identity(self, structurer: str) -> str:
        from lunguage_assets.judges.binding_record import BindingRecord
        from lunguage_assets.structuring.opening import structurer_identity

        found = structurer_identity(structurer, self._judges, self._prompts)
        if structurer in self._judges.judges:
            BindingRecord(self._home.binding_file).require(structurer, self._judges.judges[structurer])
        return found

    def _explicit(self, options: frozenset[str]) -> str:
        return fingerprint(self.settings.explicit.model_dump(include=set(options)))

    def _anchors(self) -> str:
        from lunguage_assets.explicit.fit.anchors import chosen_anchors

        choice = self.settings.explicit.anchors
        chosen = chosen_anchors(choice, self._home.anchor_ratings, self._home.root)
        return fingerprint([chosen.name, repr(chosen.anchors), sorted(chosen.optional)])

    def _encoder(self) -> str:
        from lunguage_assets.implicit.encoders.making import encoder_identity

        return encoder_identity(self.settings.implicit, self._home.root)

    @cached_property
    def _corrections(self) -> Mapping[str, Sequence[str]]:
        from lunguage_assets.explicit.hedges.hedging import corrected_phrases, load_corrections

        return corrected_phrases(load_corrections(self._home.corrections_file))

    def _corrections_of(self, batch: str) -> str:
        """Only the corrections of this batch: those of other batches do not make it stale."""
        if not self._corrections:
            return NOTHING
        try:
            findings = read_table(FINDINGS, partition_path(self._home.tables, "findings", batch))
        except (FileNotFoundError, ConfigurationError):
            return NOTHING
        own = sorted(set(findings["finding_id"].tolist()) & set(self._corrections))
        return (
            fingerprint([[finding, list(self._corrections[finding])] for finding in own]) if own else NOTHING
        )


def _of_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else NOTHING
