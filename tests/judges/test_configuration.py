"""Language models in the judges file: presets, what a table must say, and what is refused before anything is
sent.
"""

from __future__ import annotations

import datetime
from datetime import date
from pathlib import Path

import pytest

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.configuration import JudgesConfiguration, load_judges
from lunguage_assets.judges.policy import preflight
from lunguage_assets.judges.providers.base import required_variables
from lunguage_assets.judges.slots import ModelSlot, on_this_machine

HEAD = """
preset = "offline"
[judges.lexicon]
provider = "lexicon"
[panels.offline]
members = ["lexicon"]
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
aliases = ["gpt-x-2026-01-01"]
params = { max_tokens = 100, temperature = 1.0 }
mode = "enum"
api_key_env = "GROUP_KEY"
price = { input = 2.0, output = 8.0, as_of = 2026-11-01 }
limits = { requests_per_minute = 500, tokens_per_minute = 90000.5, in_flight = 16, timeout_s = 20 }
retires_on = 2027-05-01
allowed_data = ["synthetic", "credentialed"]
zero_retention_attested_on = 2026-10-01
zero_retention_attested_by = "Data office"
"""
SERVER = 'provider = "openai-compatible"\nmodel = "m"\nbase_url = "http://localhost:8000/v1"\n'
LOCAL = 'provider = "transformers"\nmodel = "m"\nparams = { max_new_tokens = 9 }\n'


def read(tmp_path: Path, gpt: str, preset: str | None = None) -> JudgesConfiguration:
    file = tmp_path / "judges.toml"
    file.write_text(HEAD + gpt, encoding="utf-8")
    return load_judges(file, preset)


def gpt_of(configuration: JudgesConfiguration) -> ModelSlot:
    slot = configuration.slot("gpt")
    assert isinstance(slot, ModelSlot)
    return slot


def refused(tmp_path: Path, gpt: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, gpt)
    message = str(caught.value)
    assert str(tmp_path / "judges.toml") in message
    assert "\n" not in message
    return message


def test_a_language_models_table_is_read_whole(tmp_path: Path) -> None:
    slot = gpt_of(read(tmp_path, GPT))
    assert (slot.mode, slot.limits.in_flight, slot.limits.timeout_s) == ("enum", 16, 20.0)
    assert slot.retires_on == datetime.date(2027, 5, 1)
    assert slot.price is not None
    assert slot.price.cost(1_000_000, 500_000) == pytest.approx(2.0 + 4.0)
    assert required_variables(slot) == ("GROUP_KEY",)
    binding = slot.binding
    assert (binding.endpoint_class, binding.model, binding.aliases) == (
        "openai",
        "gpt-x",
        ("gpt-x-2026-01-01",),
    )
    assert binding.parameters == (("max_tokens", 100), ("temperature", 1.0))


def test_only_the_judges_of_the_active_preset_rank_and_are_asked(tmp_path: Path) -> None:
    offline, models = read(tmp_path, GPT), read(tmp_path, GPT, "models")
    assert (offline.rankers, offline.active_judges, list(offline.models)) == (
        ("panel", "lexicon"),
        ("lexicon",),
        [],
    )
    assert (models.rankers, models.active_judges) == (
        ("panel", "lexicon", "gpt"),
        ("lexicon", "claude", "gpt"),
    )
    assert list(models.models) == ["claude", "gpt"]
    assert models.members("panel") == ("gpt", "lexicon")
    with pytest.raises(ConfigurationError, match=r"'gpt'.*panel, lexicon.*preset"):
        offline.members("gpt")


@pytest.mark.parametrize(("gpt", "place", "problem"), [
    (GPT.replace("2.0, output", "-2.0, output"), "judges.gpt.price.input", "greater than or equal to 0"),
    (GPT.replace(", as_of = 2026-11-01", ""), "judges.gpt.price.as_of", "required"),
    (GPT.replace('"credentialed"', '"public"'), "judges.gpt.allowed_data.1", "'synthetic' or 'credentialed'"),
    (GPT.replace('"GROUP_KEY"', '"sk-123abc"'), "judges.gpt.api_key_env", "match pattern"),
    (GPT.replace('model = "gpt-x"', 'model = "gpt-x "'), "judges.gpt.model", "white space"),
    (GPT.replace("temperature = 1.0", "n = 4"), "judges.gpt.params", "'n' is not a parameter"),
    (GPT.replace("temperature = 1.0", "when = 2026-01-01"), "judges.gpt.params", "finite numbers"),
    (GPT.replace('provider = "openai"', ""), "judges.gpt.provider", "is missing"),
    (GPT.replace('"openai"', '"litellm"'), "judges.gpt.provider",
    "'litellm' is not known; expected one of cues, lexicon, anthropic"),
    (GPT.replace('"openai"', '"anthropic"').replace("max_tokens = 100", "max_tokens = 0"), "judges.gpt",
    "params.max_tokens"),
    (GPT + 'api_version = "2"\n', "judges.gpt", "azure-openai only"),
    (GPT.replace('"openai"', '"vertex"'), "judges.gpt", "application default credentials"),
    (GPT + 'base_url = "ftp://x"\n', "judges.gpt", "base_url is not usable"),
    (GPT + 'base_url = "http://gateway.example"\n', "judges.gpt", "expected https"),
    (GPT + 'base_url = "https://a:b@gateway.example"\n', "judges.gpt", "no user name"),
    (GPT + 'base_url = "https://x"\nbase_url_env = "X"\n', "judges.gpt", "both given"),
    (SERVER.replace("base_url", "api_version").replace('"http://localhost:8000/v1"', '""'), "judges.gpt",
    "base_url is missing"),
    (SERVER + "batch_allowed = false\n", "judges.gpt.batch_allowed", "delete this field"),
    (SERVER + 'revision = "main"\n', "judges.gpt", "'openai-compatible' has no use for it"),
    (LOCAL + 'base_url = "http://localhost:1/v1"\n', "judges.gpt",
    "base_url is given; provider 'transformers' has no use"),
    (LOCAL + 'api_key_env = "KEY"\n', "judges.gpt", "api_key_env is given"),
    (LOCAL.replace("max_new_tokens = 9", "top_k = 3"), "judges.gpt", "params.max_new_tokens: Field required"),
    (LOCAL.replace("= 9", "= 9, num_beams = 4"), "judges.gpt",
    "a model in this process takes max_new_tokens, do_sample, temperature"),
])  # fmt: skip
def test_a_wrong_table_is_refused_by_file_and_field(
    tmp_path: Path, gpt: str, place: str, problem: str
) -> None:
    message = refused(tmp_path, gpt)
    assert f"field {place}:" in message
    assert problem in message


@pytest.mark.parametrize("missing", ["zero_retention_attested_on", "zero_retention_attested_by"])
def test_an_attestation_names_who_and_when(tmp_path: Path, missing: str) -> None:
    lines = [line for line in GPT.splitlines() if not line.startswith(missing)]
    assert "belong together" in refused(tmp_path, "\n".join(lines))


def test_credentialed_text_needs_an_attestation_or_a_server_on_this_machine(tmp_path: Path) -> None:
    open_to_all = 'allowed_data = ["credentialed"]\n'
    bare = "\n".join(line for line in GPT.splitlines() if not line.startswith("zero_retention"))
    assert "credentialed" in refused(tmp_path, bare)
    assert gpt_of(read(tmp_path, SERVER + open_to_all)).allowed_data == ("credentialed",)
    for address in (
        "https://gpu.hospital.example:8000/v1",
        "https://localhost.example/v1",
        "https://10.0.0.7/v1",
    ):
        assert "credentialed" in refused(
            tmp_path, SERVER.replace("http://localhost:8000/v1", address) + open_to_all
        )
    by_name = SERVER.replace('base_url = "http://localhost:8000/v1"', 'base_url_env = "SERVER"')
    assert gpt_of(read(tmp_path, by_name + open_to_all)).allowed_data == ("credentialed",), (
        "its address is examined later"
    )
    assert "credentialed" in refused(tmp_path, (by_name + open_to_all).replace("openai-compatible", "openai"))


@pytest.mark.parametrize("provider", ["openai", "openai-compatible"])
@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("http://gpu.hospital.example:8000/v1", "expected https"),
        ("http://10.0.0.7/v1", "expected https"),
        ("http://localhost.example/v1", "tunnel"),
        ("https://gpu\\t.example/v1", "not usable"),
        ("https://gpu.example/\\nv1", "not usable"),
        ("https://gpu. example/v1", "not usable"),
        ("https://gpu\u200b.example/v1", "not usable"),
    ],
)
def test_text_leaves_the_machine_over_https_only_and_to_an_address_as_it_is_written(
    tmp_path: Path, provider: str, address: str, why: str
) -> None:
    slot = SERVER.replace("http://localhost:8000/v1", address).replace("openai-compatible", provider)
    assert why in refused(tmp_path, slot)


def test_what_is_written_about_allowed_data_binds_a_server_and_a_model_on_this_machine() -> None:
    here = {"provider": "openai-compatible", "model": "m", "base_url": "http://localhost:1/v1"}
    inside = {"provider": "transformers", "model": "m", "params": {"max_new_tokens": 9}}
    for values in (here, inside):
        for allowed, refusals in ((None, 0), (("synthetic",), 1), ((), 1), (("credentialed",), 0)):
            slot = ModelSlot(**values if allowed is None else values | {"allowed_data": allowed})
            problems = preflight("gpt", slot, {}, "credentialed", date(2026, 11, 1))
            assert len(problems) == refusals
            assert all("allowed_data does not list 'credentialed'" in each.message for each in problems)


@pytest.mark.parametrize(("address", "here"), [
    ("http://localhost:8000/v1", True), ("http://127.0.0.1/v1", True), ("http://127.8.9.1/v1", True),
    ("http://[::1]:80/v1", True),
    ("https://localhost.evil.example/v1", False), ("http://127.0.0.1.example/", False),
    ("http://0.0.0.0/", False), ("https://api.openai.com", False),
    ("http://localhost@evil.example/", False),
])  # fmt: skip
def test_which_addresses_are_this_machine(address: str, here: bool) -> None:
    assert on_this_machine(address) == here


def test_text_stays_here_only_with_an_own_server_here() -> None:
    assert not ModelSlot(
        provider="openai-compatible", model="m", base_url="http://localhost:1/v1"
    ).leaves_machine({})
    assert ModelSlot(
        provider="openai-compatible", model="m", base_url="https://gpu.example/v1"
    ).leaves_machine({})
    assert ModelSlot(provider="openai", model="m", base_url="http://localhost:1/v1").leaves_machine({})


@pytest.mark.parametrize(("address", "refused"), [
    ("http://localhost:8000/v1", False), (" http://127.0.0.1:9/v1 ", False),
    ("https://gpu.example/v1", True), ("", True), (None, True),
])  # fmt: skip
def test_a_server_that_only_the_environment_names_is_examined_there_and_refused_while_it_is_not_named(
    address: str | None, refused: bool
) -> None:
    slot = ModelSlot(
        provider="openai-compatible", model="m", base_url_env="SERVER", allowed_data=("credentialed",)
    )
    environ = {} if address is None else {"SERVER": address}
    problems = preflight("gpt", slot, environ, "credentialed", date(2026, 11, 1))
    assert [problem.severity for problem in problems] == (["refusal"] if refused else [])
    assert slot.model_copy(update={"provider": "openai"}).leaves_machine(environ), (
        "a gateway is not the model"
    )


def test_a_model_in_this_process_is_free_keeps_text_here_and_has_the_next_batch_waiting(
    tmp_path: Path,
) -> None:
    slot = gpt_of(read(tmp_path, LOCAL + "batch_size = 24\n"))
    assert not slot.leaves_machine({})
    assert required_variables(slot) == ()
    assert slot.limits.in_flight == 48
    assert slot.price is not None
    assert slot.price.cost(1e6, 1e6) == 0
    binding = slot.binding
    assert (binding.endpoint_class, dict(binding.parameters)) == (
        "transformers",
        {"max_new_tokens": 9, "revision": "main", "dtype": "auto"},
    )
    own = (
        "price = { input = 0.1, output = 0.2, as_of = 2026-11-01 }\nlimits = { in_flight = 5 "
        "}\nallowed_data = ['credentialed']\n"
    )
    changed = gpt_of(read(tmp_path, LOCAL + own))
    assert changed.price is not None
    assert (changed.price.output, changed.limits.in_flight) == (0.2, 5)


def test_the_bundled_file_stays_offline_and_has_the_papers_panel_and_a_live_one() -> None:
    judges = load_judges()
    assert (judges.preset, judges.active_judges, judges.models) == ("offline", ("lexicon", "cues"), {})
    paper = load_judges(preset="models-2025")
    models = [paper.models[key].model for key in paper.panel_members]
    assert models == ["gemini-2.5-flash", "gpt-4o", "claude-sonnet-4-20250514", "google/medgemma-27b-text-it"]
    extractor = paper.models[paper.extractor]
    assert extractor.params["thinking_config"] == {"thinking_budget": 1000}
    assert (extractor.model, extractor.params["max_output_tokens"]) == ("gemini-2.5-flash", 1100)
    assert all(
        "temperature" not in slot.params for slot in paper.models.values() if slot.provider == "anthropic"
    )


def test_the_papers_prices_and_ends_are_those_of_its_logs_and_of_the_providers() -> None:
    paper = load_judges(preset="models-2025")
    prices = {key: paper.models[key].price for key in paper.panel_members}
    assert {key: price and (price.input, price.output) for key, price in prices.items()} == {
        "gemini-2.5-flash": (0.30, 2.50), "gpt-4o": (2.75, 11.0), "claude-sonnet-4": (3.0, 15.0),
        "medgemma-27b": (0.0, 0.0),
    }  # fmt: skip
    ends = {key: str(slot.retires_on) for key, slot in paper.models.items()}
    assert ends["claude-sonnet-4"] == "2026-06-15"
    assert ends["gpt-4o"] == "2027-01-14"
    assert ends["gemini-2.5-flash"] == ends["gemini-2.5-flash-thinking"] == "2026-12-01"


def test_the_live_panels_models_are_named_by_the_sdks_and_not_on_their_lists_of_ends() -> None:
    openai = pytest.importorskip(
        "openai.types.shared.chat_model", reason="needs pip install 'lunguage-assets[llm]'"
    )
    anthropic = pytest.importorskip(
        "anthropic.types.model", reason="needs pip install 'lunguage-assets[llm]'"
    )
    ends = pytest.importorskip(
        "anthropic.resources.messages.messages", reason="needs pip install 'lunguage-assets[llm]'"
    ).DEPRECATED_MODELS
    genai = pytest.importorskip("google.genai", reason="needs pip install 'lunguage-assets[llm]'")
    models = {key: slot.model for key, slot in load_judges(preset="panel-2026").models.items()}
    assert models["gpt-5.5"] in openai.ChatModel.__args__
    assert models["claude-sonnet-5.5"] in anthropic.Model.__args__[0].__args__
    assert models["claude-sonnet-5.5"] not in ends
    source = (Path(genai.__file__).parent / "_gaos" / "types" / "interactions" / "model.py").read_text(
        encoding="utf-8"
    )
    assert f'"{models["gemini-3.8-flash"]}"' in source
