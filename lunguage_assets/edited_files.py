"""Files that a person edits in a home: where each lies, its version, what is broken.

What rests on an edited one is stale. The readers of these files are imported where they
are called: `lunguage status` should not load what it does not ask for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from lunguage_assets.errors import LunguageError
from lunguage_assets.packaged_data import resource
from lunguage_assets.settings import load_settings
from lunguage_assets.tables import TERMS
from lunguage_assets.workspace.home import Home


class EditedFile(NamedTuple):
    """A file of a home that a person may edit.

    Attributes:
        name: of the file.
        description: where it lies and what it says.
        packaged: the file of `resources/` that counts without it, if not of that name.
    """

    name: str
    description: str
    packaged: str = ""

    def version(self, home: Home) -> str:
        """Hash what the file says."""
        file = home.root / self.name
        if not file.exists():
            file = resource(self.packaged or self.name)
        return hash_of_files(file)


EDITED_FILES: Mapping[str, EditedFile] = {
    "pathways_file": EditedFile(
        "pathways.yaml", "pathways.yaml of the home, or the packaged one"
    ),
    "blacklist_file": EditedFile(
        "blacklist.yaml", "blacklist.yaml of the home, or the packaged one"
    ),
    "corrections_file": EditedFile(
        "corrections.csv",
        "corrections.csv of the home: phrases that a person corrected",
    ),
    "anchors_file": EditedFile(
        "anchor_ratings.csv",
        "Anchors: ratings of the home, or the published ones",
        packaged="anchors.toml",
    ),
    "experts_file": EditedFile(
        "expert_responses.csv", "The answers of a survey of experts"
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
    from lunguage_assets.explicit.probability import anchors_in_use
    from lunguage_assets.implicit.merging.merge_constraints import load_blacklist
    from lunguage_assets.implicit.pathways.pathways import load_dictionary

    # What a delivery calls its findings does not matter to the form of the file.
    no_terms = Vocabulary(TERMS.frame())
    readers: list[Callable[[], object]] = [
        lambda: load_settings(home.settings_file),
        lambda: anchors_in_use(home.anchor_ratings),
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
