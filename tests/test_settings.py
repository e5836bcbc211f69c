"""Options of the method: single ones are overridden, wrong ones are named with their file."""

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
            r"settings.toml, option implicit.merge_threshold",
        ),
        (
            '[implicit]\nencodr = "lexical"',
            r"'implicit\.encodr'\. Did you mean 'encoder'\?",
        ),
        (
            'as_published = "yes"',
            r"settings.toml, option as_published: .* valid boolean",
        ),
        ("as_published = 1", r"settings.toml, option as_published: .* valid boolean"),
        (
            "x = " + "[" * 60_000,
            r"settings.toml: not readable as TOML \(too many brackets",
        ),
        ("x = " + "9" * 5_000, r"settings.toml: not readable as TOML"),
    ],
)
def test_a_wrong_setting_is_named_with_its_file(
    tmp_path: Path, text: str, named: str
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=named):
        load_settings(file)


def test_the_file_of_defaults_has_every_option_with_its_default_and_says_what_it_means() -> (
    None
):
    assert load_settings() == Settings()
    lines = resource("settings.toml").read_text(encoding="utf-8").splitlines()
    explained = {line.split(" = ")[0] for line in lines if " # " in line}
    groups = [
        group for group in Settings().model_dump().values() if isinstance(group, dict)
    ]
    assert {option for group in groups for option in group} - explained == {"seed"}


def test_the_home_file_overrides_single_options_and_keeps_the_rest(
    tmp_path: Path,
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[explicit]\nseed = 7\n")
    assert load_settings(file).explicit == load_settings().explicit.model_copy(
        update={"seed": 7}
    )


def test_every_option_of_the_paper_is_an_option_and_they_stand_between_defaults_and_the_homes_own(
    tmp_path: Path,
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("as_published = true\n")
    taken = load_settings(file)
    assert taken.as_published
    assert departures(taken) == {}
    assert (taken.implicit.mode, taken.implicit.encoder) == ("paper", "sentence")
    file.write_text(file.read_text() + '[implicit]\nencoder = "lexical"\n')
    own = load_settings(file)
    assert (own.implicit.mode, own.implicit.encoder) == ("paper", "lexical")
    assert departures(own) == {"implicit.encoder": ("sentence", "lexical")}
    assert departures(load_settings()), "the defaults are not the paper's"


def test_ten_thousand_brackets_are_an_error_a_person_can_act_on(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("preset = " + "[" * 60_000)
    with pytest.raises(ConfigurationError, match="not readable as TOML"):
        load_settings(file)


def test_an_option_that_went_is_ignored_with_a_message(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[release]\nkeep = 3\np_estimate = true\n")
    with pytest.warns(FutureWarning, match=r"release.p_estimate is ignored.*bound"):
        settings = load_settings(file)
    assert settings.release.keep == 3
