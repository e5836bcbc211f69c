"""What steps read besides tables, each with a version.

Judges, structurers, panels, deliveries, and the files that a person edits. What rests
on one that changed is stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from lunguage_assets.configuration import Configuration
from lunguage_assets.edited_files import EDITED_FILES
from lunguage_assets.errors import LunguageError
from lunguage_assets.explicit.open_judges import judge_identity
from lunguage_assets.structuring.model.structurer import structurer_identity
from lunguage_assets.workspace.store import fingerprint


def source_versions(configuration: Configuration) -> Mapping[str, Mapping[Any, str]]:
    """Compute the version of every source, by partition where it has some.

    A judge who cannot be opened has none: whoever asks it is told why.
    """
    judges = configuration.judges
    home = configuration.home
    version_by_judge = _of_those_that_open(
        judges.active_judges, lambda key: judge_identity(key, judges)
    )
    version_by_structurer = _of_those_that_open(
        judges.structurers,
        lambda key: structurer_identity(key, judges, home.assertion_file),
    )
    version_by_panel = {}
    for ranker in judges.rankers:
        members = judges.members(ranker)
        version_by_panel[ranker] = fingerprint(
            [[key, version_by_judge.get(key, "")] for key in members]
        )
    return {
        # With the number: a batch that was removed and delivered again is another one.
        "deliveries": {
            batch.key: f"{batch.sha256[:16]}-{batch.number}"
            for batch in home.registered()
        },
        "structurers": version_by_structurer,
        "judges": version_by_judge,
        "panels": version_by_panel,
        **{name: {None: file.version(home)} for name, file in EDITED_FILES.items()},
    }


def _of_those_that_open(
    keys: Iterable[str], identify: Callable[[str], str]
) -> dict[str, str]:
    versions = {}
    for key in keys:
        with suppress(LunguageError):
            versions[key] = identify(key)
    return versions
