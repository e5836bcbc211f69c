"""The judges file is validated whole, and every error names the file and the field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.judges.opening import make_judge

Write = Callable[[str], Path]

VALID = """
preset = "offline"
[judges.lexicon]
provider = "lexicon"
[judges."cues-2.b_1"]
provider = "cues"
[panels.both]
members = ["cues-2.b_1", "lexicon"]
[panels.one]
members = ["lexicon"]
[presets.offline]
panel = "both"
extractor = "lexicon"
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def _write(text: str) -> Path:
        path = tmp_path / "judges.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return _write


def test_the_bundled_file_has_two_offline_judges_and_a_panel_of_both() -> None:
    judges = load_judges()
    assert judges.panel_members == ("lexicon", "cues")
    assert judges.extractor == "lexicon"
    assert judges.rankers == ("panel", "lexicon", "cues")
    assert [make_judge(key, judges).key for key in judges.active_judges] == ["lexicon", "cues"]


def test_a_ranker_is_the_panel_or_one_judge(write: Write) -> None:
    judges = load_judges(write(VALID))
    assert judges.members("panel") == ("cues-2.b_1", "lexicon")
    assert judges.members("lexicon") == ("lexicon",)
    with pytest.raises(ConfigurationError, match=r"'gpt'.*panel, lexicon"):
        judges.members("gpt")
    with pytest.raises(ConfigurationError, match="'gpt'"):
        make_judge("gpt", judges)


@pytest.mark.parametrize(("old", "new", "field", "problem"), [
    ('preset = "offline"', 'preset = "online"', "", "preset names 'online'"),
    ('members = ["lexicon"]', 'members = ["lexicon", "gpt"]', "", "panels.one.members names 'gpt'"),
    ('members = ["lexicon"]', 'members = ["lexicon", "lexicon"]', "panels.one.members", "twice"),
    ('members = ["lexicon"]', "members = []", "panels.one.members", "at least 1"),
    ('panel = "both"', 'panel = "all"', "", "presets.offline.panel names 'all'"),
    ('extractor = "lexicon"', 'extractor = "gemini"', "", "presets.offline.extractor names 'gemini'"),
    ('provider = "cues"', 'provider = "oracle"', "judges.cues-2.b_1.provider",
     "'oracle' is not known; expected one of cues, lexicon"),
    ('provider = "cues"', 'provider = "cues"\nmodle = "x"', "judges.cues-2.b_1.modle", "Extra inputs"),
    ("[judges.lexicon]", "[judges.panel]", "judges.panel", "reserved"),
    ("[judges.lexicon]", "[judges.GPT]", "judges.GPT", "lower-case"),
    ("[judges.lexicon]", '[judges."a b"]', "judges.a b", "lower-case"),
])  # fmt: skip
def test_a_wrong_file_is_refused_by_name_and_field(
    write, old: str, new: str, field: str, problem: str
) -> None:
    assert old in VALID
    path = write(VALID.replace(old, new, 1))
    with pytest.raises(ConfigurationError) as caught:
        load_judges(path)
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)
    assert field in str(caught.value)


def test_a_file_that_is_not_toml_or_not_there_is_refused(write: Write, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="not readable as TOML"):
        load_judges(write("[judges"))
    with pytest.raises(ConfigurationError, match="a changed model gets a new key"):
        load_judges(write(VALID + '[judges.lexicon]\nprovider = "cues"\n'))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_judges(tmp_path / "none.toml")


def test_the_structurer_is_the_rules_or_a_language_model_of_the_file(write: Callable[[str], Path]) -> None:
    assert load_judges().structurer == "rules"
    assert load_judges().structurers == ("rules",)
    chosen = load_judges(structurer="gpt-5.5")
    assert (chosen.structurer, chosen.structurers) == ("gpt-5.5", ("rules", "gpt-5.5"))
    assert "gpt-5.5" in chosen.active_judges
    assert chosen.members("panel") == load_judges().members("panel")
    with pytest.raises(ConfigurationError, match=r"structurer 'lexicon' is not known.*--structurer"):
        load_judges(structurer="lexicon")
    preset = VALID.replace('extractor = "lexicon"', 'extractor = "lexicon"\nstructurer = "cues"', 1)
    with pytest.raises(
        ConfigurationError, match="structurer names 'cues'; expected one of structurers: rules"
    ):
        load_judges(write(preset))
    with pytest.raises(ConfigurationError, match="'rules' is reserved"):
        load_judges(write(VALID + '[judges.rules]\nprovider = "cues"\n'))
