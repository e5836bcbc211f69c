"""Fingerprints of what a step reads besides tables: settings, files, judges.

Each has a name that a person knows, because the name is the reason shown for a stale
table. The readers of these things are imported where they are called: `lunguage status`
should not load what it does not ask for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.packaged_data import resource
from lunguage_assets.settings import load_settings
from lunguage_assets.structuring.text.report import identity as text_rules
from lunguage_assets.tables import TERMS
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.parquet_rows import read_rows
from lunguage_assets.workspace.store import partition_path
from lunguage_assets.workspace.table_record import fingerprint

NOTHING = "none"
"""Fingerprint of what is not there."""


class _SettingsGroup(NamedTuple):
    """Options of a group of settings that are read under one name."""

    group: str
    options: frozenset[str]


OPTIONS: Mapping[str, _SettingsGroup] = {
    "corpus settings": _SettingsGroup("corpus", frozenset({"default_view"})),
    "vocabulary settings": _SettingsGroup(
        "explicit",
        frozenset({"reference_scale", "reference_scale_minimum", "minimum_examples"}),
    ),
    "comparison settings": _SettingsGroup(
        "explicit", frozenset({"seed", "repetitions", "position"})
    ),
    "ranking settings": _SettingsGroup(
        "explicit", frozenset({"seed", "orders", "bootstrap"})
    ),
    "fit settings": _SettingsGroup(
        "explicit",
        frozenset(
            {
                "seed",
                "position",
                "opponent_limit",
                "panel_steps",
                "patience",
                "step_limit",
                "fit_log",
            }
        ),
    ),
    "release settings": _SettingsGroup("release", frozenset()),
    "merge settings": _SettingsGroup(
        "implicit", frozenset({"merge_threshold", "history", "mode"})
    ),
}
"""Settings by the name of a recipe's `reads`: options that no step reads are in none,
and changing them makes nothing stale.
"""

_DIMENSION_BY_NAME = {
    "judge": "judge",
    "structurer": "structurer",
    "members": "ranker",
    "delivery": "report_batch",
    "corrections": "report_batch",
}
"""Of what differs from partition to partition: the dimension that it depends on."""


class InputFingerprints:
    """Fingerprints of a home's settings, files and judges.

    Each is read when it is asked for, and then kept.

    Args:
        home: whose settings and files they are.
        judges: as they are configured.
        prompts: folder of the person's own prompts, or None.
    """

    def __init__(
        self, home: Home, judges: JudgesConfiguration, prompts: Path | None = None
    ) -> None:
        self._home = home
        self._judges = judges
        self._prompts = prompts
        self._kept = cache(self._read)

    def of(self, name: str, key_by_dimension: Mapping[str, str]) -> str:
        """Fingerprint one of a recipe's `reads` for a partition.

        Raises:
            LunguageError: the file or the judge cannot be used.
        """
        dimension = _DIMENSION_BY_NAME.get(name)
        return self._kept(name, key_by_dimension[dimension] if dimension else "")

    def _read(self, name: str, key: str) -> str:
        if name in OPTIONS:
            return self._of_settings(name)
        if name in _DIMENSION_BY_NAME:
            return self._of_partition(name, key)
        return self._of_file(name)

    def _of_settings(self, name: str) -> str:
        group, options = OPTIONS[name]
        # Only the options that the step reads: another patience makes no vocabulary
        # stale.
        settings = getattr(load_settings(self._home.settings_file), group)
        return fingerprint(settings.model_dump(include=set(options)))

    def _of_partition(self, name: str, key: str) -> str:
        """Fingerprint what a judge, a structurer, a ranker or a batch brings along."""
        from lunguage_assets.explicit.open_judges import judge_identity
        from lunguage_assets.structuring.model.structurer import structurer_identity

        match name:
            case "judge":
                return judge_identity(key, self._judges, self._prompts)
            case "structurer":
                return structurer_identity(
                    key, self._judges, self._prompts, self._home.assertion_file
                )
            case "members":
                members = self._judges.members(key)
                return fingerprint([self._kept("judge", judge) for judge in members])
            case "delivery":
                return self._home.batch(key).sha256
        assert name == "corrections", name
        return self._corrections_of(key)

    def _of_file(self, name: str) -> str:
        """Fingerprint files that the package brings, or that a person may edit."""
        home = self._home
        match name:
            case "text rules":
                return text_rules()
            case "terms" | "labels":
                return _hash_of_files(resource(f"{name}.yaml"))
            case "statements":
                return _statements()
            case "blacklist":
                return _hash_of_files(home.blacklist_file or resource("blacklist.yaml"))
            case "pathways":
                return _hash_of_files(home.pathways_file or resource("pathways.yaml"))
            case "gold findings":
                return _hash_of_files(home.gold_findings)
            case "expert responses":
                return _hash_of_files(home.expert_responses, home.expert_descriptions)
            case "anchors":
                return _anchors(home)
        assert name == "encoder", name
        return _encoder(home)

    def _corrections_of(self, batch: str) -> str:
        """Fingerprint the corrections of rows of a batch.

        Those of other batches do not make it stale.
        """
        from lunguage_assets.explicit.hedges.review import load_corrections

        corrections = load_corrections(self._home.corrections_file)
        if not corrections:
            return NOTHING
        stored_ids: set[str] = set()
        findings = partition_path(self._home.tables, "findings", batch)
        # Of whatever version: ids are in all of them, other columns are not.
        with (
            suppress(FileNotFoundError, ConfigurationError),
            findings.open("rb") as file,
        ):
            rows = read_rows(file, "finding_id", corrections.keys(), ["finding_id"])
            stored_ids = set(rows.column("finding_id").to_pylist())
        of_batch = [
            [finding_id, list(corrections[finding_id])]
            for finding_id in sorted(stored_ids)
        ]
        return fingerprint(of_batch) if of_batch else NOTHING


def broken_files(home: Home) -> list[str]:
    """Say what is wrong with files that a person edits in a home.

    A broken judges file is refused before.

    Returns:
        A message for each file, with the line or field and the remedy.
    """
    from lunguage_assets.assertion.own_cues import read_own_cues
    from lunguage_assets.corpus.vocabulary import Vocabulary
    from lunguage_assets.explicit.hedges.review import load_corrections
    from lunguage_assets.implicit.merging.merge_constraints import load_blacklist
    from lunguage_assets.implicit.pathways.pathways import load_dictionary

    # What a delivery calls its findings does not matter to the form of the file.
    no_terms = Vocabulary.from_terms(TERMS.frame())
    readers: list[Callable[[], object]] = [
        lambda: _anchors(home),
        lambda: load_corrections(home.corrections_file),
        lambda: load_blacklist(home.blacklist_file),
        lambda: read_own_cues(home.assertion_file) if home.assertion_file else None,
        lambda: load_dictionary(home.pathways_file, no_terms),
    ]
    problems: dict[str, None] = {}
    for read_file in readers:
        try:
            read_file()
        except LunguageError as error:
            problems[str(error)] = None
    return list(problems)


def _statements() -> str:
    # What a denial reaches, what restricts it and what refines a diagnosis stand among
    # the words of the assertion engine.
    from lunguage_assets.assertion.vocabulary import content_hash

    return fingerprint([_hash_of_files(resource("statements.yaml")), content_hash()])


def _anchors(home: Home) -> str:
    from lunguage_assets.explicit.fit.anchors import chosen_anchors

    setting = load_settings(home.settings_file).explicit.anchors
    # The ratings of the home's own readers take the place of a set, and change p of
    # every tentative finding.
    chosen = chosen_anchors(setting, home.anchor_ratings, home.root)
    optional = sorted(anchor.phrase for anchor in chosen.anchors if anchor.optional)
    return fingerprint([chosen.name, repr(chosen.anchors), optional])


def _encoder(home: Home) -> str:
    from lunguage_assets.implicit.encoders import encoder_identity

    return encoder_identity(load_settings(home.settings_file).implicit, home.root)


def _hash_of_files(*paths: Path) -> str:
    return "".join(map(_hash_of_file, paths))


def _hash_of_file(path: Path) -> str:
    if not path.exists():
        return NOTHING
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
