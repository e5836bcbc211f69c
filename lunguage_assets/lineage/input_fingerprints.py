"""Fingerprints of what a step reads besides tables: settings, files that a person may edit, judges.

Each has a name that a person knows, because the name is the reason shown for a stale table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.packaged_data import resource
from lunguage_assets.settings import load_settings
from lunguage_assets.structuring.text.read import identity as text_rules
from lunguage_assets.tables import TERMS
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import fingerprint, partition_path, read_rows

_OF_FIT = {
    "seed",
    "position",
    "opponent_limit",
    "panel_steps",
    "patience",
    "step_limit",
    "fit_log",
}
OPTIONS: Mapping[str, tuple[str, set[str]]] = {
    "corpus settings": ("corpus", {"default_view"}),
    "vocabulary settings": ("explicit", {"ruler", "ruler_minimum", "minimum_examples"}),
    "comparison settings": ("explicit", {"seed", "repetitions", "position"}),
    "ranking settings": ("explicit", {"seed", "orders", "bootstrap"}),
    "fit settings": ("explicit", _OF_FIT),
    "release settings": ("release", set()),
    "merge settings": ("implicit", {"merge_threshold", "history", "mode"}),
}
"""Name -> group of settings, and the options of it that are read under this name."""

_RETIRED_OPTIONS = {"release settings": {"p_estimate": False}}
"""Options that went, with the only value that is left: a release that never used them stays current."""

NOTHING = "none"


_OF = {
    **{"judge": "judge", "structurer": "structurer", "members": "ranker"},
    **{"delivery": "report_batch", "corrections": "report_batch"},
}
"""Name of what differs from partition to partition -> the dimension that it depends on."""


class InputFingerprints:
    """Fingerprints for `StalenessChecker`; each is read when it is asked for, and then kept."""

    def __init__(
        self, home: Home, judges: JudgesConfiguration, prompts: Path | None = None
    ) -> None:
        self._home, self._judges, self._prompts = home, judges, prompts
        self._kept = cache(self._read)

    def of(self, name: str, keys: Mapping[str, str]) -> str:
        """Fingerprint of one of a recipe's `reads`, for a partition whose keys are given by dimension; raises
        `LunguageError` when the file or the judge cannot be used.
        """
        return self._kept(name, keys[_OF[name]] if name in _OF else "")

    def _read(self, name: str, key: str) -> str:
        from lunguage_assets.assertion.vocabulary import content_hash
        from lunguage_assets.explicit.open_judges import judge_identity
        from lunguage_assets.implicit.encoders import encoder_identity
        from lunguage_assets.structuring.model.structurer import structurer_identity

        home = self._home
        if name in OPTIONS:
            group, options = OPTIONS[name]
            settings = getattr(load_settings(home.settings_file), group)
            retired = _RETIRED_OPTIONS.get(name, {})
            return fingerprint({**settings.model_dump(include=options), **retired})
        match name:
            case "judge":
                return judge_identity(key, self._judges, self._prompts)
            case "structurer":
                return structurer_identity(
                    key, self._judges, self._prompts, home.assertion_file
                )
            case "members":
                return fingerprint(
                    [self._kept("judge", judge) for judge in self._judges.members(key)]
                )
            case "delivery":
                return home.batch(key).sha256
            case "corrections":
                return self._corrections_of(key)
            case "terms" | "labels":
                return _of_files(resource(f"{name}.yaml"))
            case "statements":
                # What a denial reaches, which restricts it and what refines a diagnosis, say
                # these words, too.
                return fingerprint(
                    [_of_files(resource("statements.yaml")), content_hash()]
                )
            case "blacklist" | "pathways":
                return _of_files(
                    getattr(home, f"{name}_file") or resource(f"{name}.yaml")
                )
            case "gold findings":
                return _of_files(home.gold_findings)
            case "expert responses":
                return _of_files(home.expert_responses, home.expert_descriptions)
            case "anchors":
                return _anchors(home)
            case "encoder":
                return encoder_identity(
                    load_settings(home.settings_file).implicit, home.root
                )
        assert name == "text rules", name
        return text_rules()

    def _corrections_of(self, batch: str) -> str:
        """Only those of this batch: corrections of other batches do not make it stale."""
        from lunguage_assets.explicit.hedges.review import load_corrections

        corrections, found = load_corrections(self._home.corrections_file), set[str]()
        if corrections:
            with suppress(FileNotFoundError, ConfigurationError):
                # Of whatever version: ids are in all of them, other columns are not.
                with partition_path(self._home.tables, "findings", batch).open(
                    "rb"
                ) as stream:
                    rows = read_rows(
                        stream, "finding_id", corrections.keys(), ["finding_id"]
                    )
                found = set(rows.column("finding_id").to_pylist())
        own = [[finding, list(corrections[finding])] for finding in sorted(found)]
        return fingerprint(own) if own else NOTHING


def broken_files(home: Home) -> list[str]:
    """What is wrong with files that a person edits in a home, each with file, place and remedy; a broken
    judges file is refused before.
    """
    from lunguage_assets.assertion.own_cues import read_own_cues
    from lunguage_assets.corpus.vocabulary import Vocabulary
    from lunguage_assets.explicit.hedges.review import load_corrections
    from lunguage_assets.implicit.merging.merge_constraints import load_blacklist
    from lunguage_assets.implicit.pathways.pathways import load_dictionary

    readers: list[Callable[[], object]] = [
        lambda: _anchors(home),
        lambda: load_corrections(home.corrections_file),
        lambda: load_blacklist(home.blacklist_file),
        lambda: read_own_cues(home.assertion_file) if home.assertion_file else None,
        lambda: load_dictionary(
            home.pathways_file, Vocabulary.from_terms(TERMS.frame())
        ),
    ]
    problems: dict[str, None] = {}
    for read in readers:
        try:
            read()
        except LunguageError as error:
            problems[str(error)] = None
    return list(problems)


def _anchors(home: Home) -> str:
    from lunguage_assets.explicit.fit.anchors import chosen_anchors

    anchors = load_settings(home.settings_file).explicit.anchors
    chosen = chosen_anchors(anchors, home.anchor_ratings, home.root)
    optional = sorted(one.phrase for one in chosen.anchors if one.optional)
    return fingerprint([chosen.name, repr(chosen.anchors), optional])


def _of_files(*paths: Path) -> str:
    return "".join(
        hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else NOTHING
        for path in paths
    )
