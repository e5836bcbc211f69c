"""The judges file: presets, what a table must say, and what is refused by file and
field; and the policy: patients' text goes only where somebody has attested that it may.
"""

from __future__ import annotations

from contextlib import nullcontext
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.configuration import JudgesConfiguration, load_judges
from lunguage_assets.judges.data_policy import PolicyRefused, require_permission
from lunguage_assets.judges.judge_config import (
    LLMJudgeConfig,
    on_this_machine,
    unusable_address,
)

HEAD = """
preset = "offline"
[judges.lexicon]
provider = "lexicon"
[judges."cues-2.b_1"]
provider = "cues"
[panels.offline]
members = ["cues-2.b_1", "lexicon"]
[panels.models]
members = ["gpt", "lexicon"]
[presets.offline]
panel = "offline"
extractor = "lexicon"
[presets.models]
panel = "models"
extractor = "claude"
[judges.claude]
provider = "anthropic"
model = "claude-x"
params = { max_tokens = 100 }
[judges.gpt]
"""
GPT = """provider = "openai"
model = "gpt-x"
params = { max_tokens = 100, temperature = 1.0 }
mode = "enum"
api_key_env = "GROUP_KEY"
price = { input = 2.0, output = 8.0, as_of = 2026-11-01 }
limits = { in_flight = 16, timeout_s = 20 }
allowed_data = ["synthetic", "credentialed"]
zero_retention_attested_on = 2026-10-01
zero_retention_attested_by = "Data office"
"""


def read(
    tmp_path: Path, gpt: str, preset: str | None = None, head: str = HEAD
) -> JudgesConfiguration:
    file = tmp_path / "judges.toml"
    file.write_text(head + gpt, encoding="utf-8")
    return load_judges(file, preset)


def test_only_the_judges_of_the_active_preset_rank_and_are_asked(
    tmp_path: Path,
) -> None:
    offline = read(tmp_path, GPT)
    models = read(tmp_path, GPT, "models")
    assert offline.rankers == ("panel", "lexicon", "cues-2.b_1")
    assert list(offline.models) == []
    assert models.rankers == ("panel", "lexicon", "gpt")
    assert models.active_judges == ("lexicon", "claude", "gpt")
    assert list(models.models) == ["claude", "gpt"]
    assert models.members("panel") == ("gpt", "lexicon")
    assert offline.members("lexicon") == ("lexicon",)
    with pytest.raises(ConfigurationError, match=r"'gpt'.*panel, lexicon.*preset"):
        offline.members("gpt")


def test_the_panel_of_another_preset_ranks_under_its_name(tmp_path: Path) -> None:
    read(tmp_path, GPT)
    file = tmp_path / "judges.toml"
    assert load_judges(file, of_home="models").members("panel") == ("gpt", "lexicon")
    offline = load_judges(file, "offline", of_home="models")
    assert offline.rankers[0] == offline.panel_ranker == "offline"
    message = r"'panel' \(--ranker\) is unknown; expected one of offline"
    with pytest.raises(ConfigurationError, match=message):
        offline.members("panel")


WRONG_TABLES = [
    ("2.0, output", "-2.0, output", "judges.gpt.openai.price.input", "greater than or equal to 0"),
    ('"credentialed"', '"public"', "judges.gpt.openai.allowed_data.1", "'synthetic' or 'credentialed'"),
    ('"GROUP_KEY"', '"sk-123abc"', "judges.gpt.openai.api_key_env", "match pattern"),
    ('model = "gpt-x"', 'model = "gpt-x "', "judges.gpt.openai.model", "match pattern"),
    ("temperature = 1.0", "x = nan", "judges.gpt.openai.params", "finite number"),
    ('provider = "openai"', "", "judges.gpt", "'provider'"),
    ('provider = "openai"', 'provider = "openai"\nlet_im = "x"', "judges.gpt.openai: key 'let_im' is not",
     "Did you mean 'let_in'"),
    ('provider = "openai"', 'provider = "openai"\nbase_url = "ftp://x"', "judges.gpt", "is not usable"),
    ('provider = "openai"', 'provider = "openai-compatible"', "judges.gpt", "base_url is missing"),
    ("params = { max_tokens = 100 }", "", "judges.claude", "params.max_tokens"),
    ('preset = "offline"', 'preset = "online"', "", "preset names 'online'"),
    ('["gpt", "lexicon"]', '["gpt", "x"]', "", "panels.models.members names 'x'"),
    ('["gpt", "lexicon"]', '["gpt", "gpt"]', "", "names a judge twice"),
    ('["gpt", "lexicon"]', "[]", "panels.models.members", "at least 1"),
    ('extractor = "claude"', 'extractor = "gemini"', "", "presets.models.extractor names 'gemini'"),
    ('extractor = "claude"', 'extractor = "claude"\nstructurer = "lexicon"', "",
     "presets.models.structurer names 'lexicon'; expected one of rules, claude, gpt"),
    ("[judges.gpt]", "[judges.panel]", "judges.panel", "reserved"),
    ("[judges.gpt]", "[judges.GPT]", "judges.GPT", "match pattern"),
    ("[judges.gpt]", "[judges.lexicon]", "", "a changed model gets a new key"),
    ("[judges.gpt]", "[judges", "", "not readable as TOML"),
]  # fmt: skip


def test_a_wrong_file_is_refused_by_file_and_field(tmp_path: Path) -> None:
    file = str(tmp_path / "judges.toml")
    for old, new, field, problem in WRONG_TABLES:
        assert old in HEAD + GPT
        with pytest.raises(ConfigurationError) as caught:
            read(tmp_path, (HEAD + GPT).replace(old, new, 1), head="")
        message = str(caught.value)
        assert [words for words in (file, field, problem) if words not in message] == []
        assert "\n" not in message


def test_text_leaves_the_machine_over_https_only() -> None:
    reason_by_address = {
        "http://gpu.hospital.example:8000/v1": "expected https", "http://10.0.0.7/v1": "expected https",
        "http://localhost.example/v1": "tunnel", "https://gpu\t.example/v1": "not usable",
        "https://gpu.example/\nv1": "not usable", "https://gpu. example/v1": "not usable",
        "https://gpu\u200b.example/v1": "not usable", "https://a:b@gpu.example/v1": "no user name",
        "ftp://gpu.example/v1": "not usable",
    }  # fmt: skip
    for address, reason in reason_by_address.items():
        assert reason in unusable_address(address)


def test_which_addresses_are_this_machine() -> None:
    here = ["http://localhost:8000/v1", "http://127.8.9.1/v1", "http://[::1]:80/v1"]
    elsewhere = [
        "https://localhost.evil.example/v1", "http://127.0.0.1.example/", "http://0.0.0.0/",
        "https://api.openai.com", "http://localhost@evil.example/",
    ]  # fmt: skip
    assert [address for address in here + elsewhere if on_this_machine(address)] == here


def test_the_bundled_file_stays_offline() -> None:
    judges = load_judges()
    assert judges.preset == "offline"
    assert judges.active_judges == ("lexicon", "cues")
    assert judges.models == {}


# --- policy

TODAY = date(2026, 11, 21)
ATTESTED = LLMJudgeConfig(
    provider="openai",
    model="gpt-x",
    allowed_data=("synthetic", "credentialed"),
    zero_retention_attested_on=date(2026, 1, 5),
    zero_retention_attested_by="A. Person, data steward",
)
ADDRESS = "http://localhost:1/v1"
HERE = {"provider": "openai-compatible", "model": "m", "base_url": ADDRESS}
INSIDE = {"provider": "transformers", "model": "m", "params": {"max_new_tokens": 9}}


def ask_for_permission(slot: LLMJudgeConfig) -> None:
    require_permission("gpt", slot, "credentialed", TODAY)


@pytest.mark.parametrize(("change", "reason"), [
    ({"allowed_data": ("synthetic",)}, "allowed_data"),
    ({"allowed_data": ()}, "allowed_data"),
    ({"zero_retention_attested_on": None}, "attested"),
    ({"zero_retention_attested_by": "  "}, "attested"),
    ({"zero_retention_attested_on": TODAY + timedelta(days=1)}, "has not come"),
])  # fmt: skip
def test_without_permission_and_attestation_credentialed_text_is_refused_with_the_reason(
    change: dict[str, object], reason: str
) -> None:
    ask_for_permission(ATTESTED)
    slot = ATTESTED.model_copy(update=change)
    with pytest.raises(PolicyRefused, match=rf"'gpt'.*{reason}"):
        ask_for_permission(slot)


@pytest.mark.parametrize("values", [HERE, INSIDE])
@pytest.mark.parametrize(
    ("allowed", "is_refused"),
    [(None, False), (("synthetic",), True), ((), True), (("credentialed",), False)],
)
def test_allowed_data_binds_servers_and_models_on_this_machine_too(
    values: dict[str, Any], allowed: tuple[str, ...] | None, is_refused: bool
) -> None:
    changes = {} if allowed is None else {"allowed_data": allowed}
    message = "allowed_data does not list 'credentialed'"
    refusal = pytest.raises(PolicyRefused, match=message)
    with refusal if is_refused else nullcontext():
        ask_for_permission(LLMJudgeConfig(**values | changes))
