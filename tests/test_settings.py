"""Options of the method: single ones are overridden, wrong ones are named with their file."""

from __future__ import annotations

from pathlib import Path

import pytest

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.settings import load_settings


def test_a_wrong_setting_is_named_with_its_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[implicit]\nmerge_threshold = 3\n")
    with pytest.raises(ConfigurationError, match=r"settings.toml, option implicit.merge_threshold"):
        load_settings(file)
    file.write_text("[implicit]\nmerge_treshold = 0.9\n")
    with pytest.raises(ConfigurationError, match="merge_treshold"):
        load_settings(file)


def test_the_home_file_overrides_single_options_and_keeps_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[explicit]\nseed = 7\n")
    assert load_settings(file).explicit == load_settings().explicit.model_copy(update={"seed": 7})
