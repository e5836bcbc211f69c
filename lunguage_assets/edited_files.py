"""Files that a person edits in a home: where each lies, its version, what is broken.

What rests on an edited one is stale. The readers of these files are imported where they
are called: `lunguage status` should not load what it does not ask for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lunguage_assets.errors import LunguageError
from lunguage_assets.packaged_data import resource
from lunguage_assets.settings import load_settings
from lunguage_assets.tables import TERMS
from lunguage_assets.workspace.home import Home


class EditedFile(NamedTuple):
    """A file, or a few that belong together, that a person may edit.

    Attributes:
        description: where it lies and what it says.
        paths: of a home.
    """

    description: str
    paths: Callable[[Home], Sequence[Path]]

    def version(self, home: Home) -> str:
        """Hash what the files say."""
        return hash_of_files(*self.paths(home))


EDITED_FILES: Mapping[str, EditedFile] = {
    "pathways_file": EditedFile(
        "pathways.yaml of the home, or the packaged one",
        lambda home: [home.pathways_file or resource("pathways.yaml")],
    ),
    "blacklist_file": EditedFile(
        "blacklist.yaml of the home, or the packaged one",
        lambda home: [home.blacklist_file or resource("blacklist.yaml")],
    ),
    "corrections_file": EditedFile(
        "corrections.csv of the home: phrases that a person corrected",
        lambda home: [home.corrections_file],
    ),
    "anchors_file": EditedFile(
        "Anchors: ratings of the home, and the packaged sets",
        lambda home: [home.anchor_ratings, resource("anchors.toml")],
    ),
    "experts_file": EditedFile(
        "The answers of a survey of experts",
        lambda home: [home.expert_responses],
    ),
}
"""Asset -> the file that it stands for. Cues of a person's own (assertion.yaml) are in
the version of the structurer that reads with them.
"""


def hash_of_files(*paths: Path) -> str:
    """Hash the contents of files; what is not there counts as `none`."""
    digests = [
        hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else "none"
        for path in paths
    ]
    return "-".join(digests)


def broken_files(home: Home) -> list[str]:
    """Say what is wrong with files that a person edits in a home.

    A broken judges file is refused before.

    Returns:
        A message for each file, with the line or field and the remedy.
    """
    from lunguage_assets.assertion.own_cues import read_own_cues
    from lunguage_assets.corpus.vocabulary import Vocabulary
    from lunguage_assets.explicit.hedges import load_corrections
    from lunguage_assets.explicit.probability import chosen_anchors
    from lunguage_assets.implicit.merging.merge_constraints import load_blacklist
    from lunguage_assets.implicit.pathways.pathways import load_dictionary

    # What a delivery calls its findings does not matter to the form of the file.
    no_terms = Vocabulary(TERMS.frame())
    readers: list[Callable[[], object]] = [
        lambda: chosen_anchors(
            load_settings(home.settings_file).explicit.anchors,
            home.anchor_ratings,
        ),
        lambda: load_corrections(home.corrections_file),
        lambda: load_blacklist(home.blacklist_file),
        lambda: read_own_cues(home.assertion_file) if home.assertion_file else None,
        lambda: load_dictionary(home.pathways_file, no_terms),
    ]
    problems: list[str] = []
    for read_file in readers:
        try:
            read_file()
        except LunguageError as error:
            problems.append(str(error))
    return problems
