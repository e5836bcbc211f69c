"""Links from an asset to the code that makes it: to a repository when one is named, else to the file on this
machine.

No repository is written into the package: `$LUNGUAGE_REPOSITORY` names it, for instance
https://github.com/OWNER/NAME, and `$LUNGUAGE_REVISION` the branch, tag or commit that runs (by default
`main`).
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from pathlib import Path

import dagster as dg

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.assets.groups import COMPUTES

REPOSITORY_VARIABLE = "LUNGUAGE_REPOSITORY"
REVISION_VARIABLE = "LUNGUAGE_REVISION"
PACKAGE = Path(__file__).parents[1]
"""Found under its own name at the root of the repository, wherever the package is installed."""


def linked_to_code(assets: Sequence[dg.AssetsDefinition]) -> list[dg.AssetsDefinition]:
    """The same assets with references to the functions that make them.

    Raises:
        ConfigurationError: `$LUNGUAGE_REPOSITORY` is no address whose links Dagster knows how to write.
    """
    local = [_linked(asset) for asset in assets]
    repository = os.environ.get(REPOSITORY_VARIABLE, "").strip().rstrip("/").removesuffix(".git")
    if not repository:
        return local
    known = "github" in repository or "gitlab" in repository
    if not (known and repository.startswith(("https://", "http://"))):
        raise ConfigurationError(
            f"${REPOSITORY_VARIABLE}: found {repository!r}; expected the web address of a repository on "
            "GitHub or GitLab, such as https://github.com/OWNER/NAME. Mend it, or unset it for links to "
            "local files."
        )
    revision = os.environ.get(REVISION_VARIABLE, "").strip() or "main"
    anchor = dg.AnchorBasedFilePathMapping(
        local_file_anchor=PACKAGE, file_anchor_path_in_repository=PACKAGE.name
    )
    return list(
        dg.link_code_references_to_git(
            local, git_url=repository, git_branch=revision, file_path_mapping=anchor
        )
    )


def _linked(asset: dg.AssetsDefinition) -> dg.AssetsDefinition:
    """`dg.with_source_code_references` would link to the function that is common to all steps."""
    compute = COMPUTES.get(asset.op.name) or asset.op.compute_fn.decorated_fn
    place = dg.LocalFileCodeReference(
        file_path=str(inspect.getsourcefile(compute)), line_number=inspect.getsourcelines(compute)[1]
    )
    links = {"dagster/code_references": dg.CodeReferencesMetadataValue(code_references=[place])}
    return asset.map_asset_specs(lambda spec: spec.merge_attributes(metadata=links))
