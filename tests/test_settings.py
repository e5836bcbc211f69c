"""Options of the method: single ones are overridden, wrong ones are named with their
file.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.packaged_data import resource
from lunguage_assets.settings import Settings, departures, load_settings


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            "[implicit]\nmerge_threshold = 3\n",
            r"settings.toml, field implicit.merge_threshold: found 3; .* or equal to 1",
        ),
        (
            '[implicit]\nencodr = "lexical"',
            r"implicit: key 'encodr' is not known. Did you mean 'encoder'\?",
        ),
        (
            'as_published = "yes"',
            r"settings.toml, field as_published: .* valid boolean",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_its_file(
    tmp_path: Path, text: str, named: str
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=named):
        load_settings(file)


def test_every_option_has_its_default_and_meaning_in_one_file() -> None:
    assert load_settings() == Settings()
    lines = resource("settings.toml").read_text(encoding="utf-8").splitlines()
    explained = {line.split(" = ")[0] for line in lines if " # " in line}
    groups = [
        group for group in Settings().model_dump().values() if isinstance(group, dict)
    ]
    assert {option for group in groups for option in group} - explained == {"seed"}


def test_the_papers_options_stand_between_defaults_and_home(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[explicit]\nseed = 7\n")
    with_seed = Settings().explicit.model_copy(update={"seed": 7})
    assert load_settings(file).explicit == with_seed
    file.write_text("as_published = true\n")
    as_published = load_settings(file)
    assert as_published.as_published
    assert departures(as_published) == {}
    assert as_published.implicit.mode == "paper"
    assert as_published.implicit.encoder == "sentence"
    file.write_text(file.read_text() + '[implicit]\nencoder = "lexical"\n')
    overridden = load_settings(file)
    assert overridden.implicit.mode == "paper"
    assert departures(overridden) == {"implicit.encoder": ("sentence", "lexical")}
    assert departures(load_settings()), "the defaults are not the paper's"
