"""The command line: one line and a non-zero status for whatever a person can mend, and one corpus per
home.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lunguage_assets.errors import ConfigurationError, CorpusMismatch
from lunguage_assets.home.home import Home, batch_key
from lunguage_assets.settings import load_settings


def edited(delivery: Path, target: Path, **files: str | None) -> Path:
    """A copy of a delivery with files replaced (by name with dots as double underscores) or removed."""
    shutil.copytree(delivery, target)
    for name, content in files.items():
        path = target / name.replace("__", ".")
        if content is None:
            path.unlink()
        else:
            path.write_text(content, encoding="utf-8")
    return target


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda d, t: t / "nowhere", "no such folder"),
        (lambda d, t: edited(d, t / "x", Lunguage__csv=None), "Lunguage.csv"),
        (lambda d, t: edited(d, t / "x", Lunguage__csv=""), "empty"),
        (
            lambda d, t: edited(
                d, t / "x", Lunguage__csv=",subject_id,study_id,section,sent\n0,p1,s1,find,a\n"
            ),
            "ent",
        ),
        (lambda d, t: edited(d, t / "x", corpus__toml='data_class = "public"\n'), "data_class"),
    ],
    ids=["no folder", "no findings file", "empty file", "missing column", "unknown data class"],
)
def test_an_unusable_delivery_stops_with_one_line_and_leaves_no_release(
    prepare, said: str, tmp_path: Path, five_reports: Path, lunguage
) -> None:
    home = tmp_path / "home"
    done = lunguage(home, "run", "--data", prepare(five_reports, tmp_path), "--batch", "b")
    assert done.returncode == 1
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("lunguage: ")
    assert said in lines[0]
    assert "Traceback" not in done.stderr + done.stdout
    assert not (home / "release").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--ranker", "oracle"), "oracle"),
        (("--batch", "Bad,Key"), "lower-case"),
        (("--corpus", "other"), "other"),
    ],
    ids=["unknown ranker", "unusable batch key", "another corpus"],
)
def test_wrong_options_are_named(
    arguments: tuple[str, ...], said: str, finished_home: Path, tmp_path: Path, five_reports: Path, lunguage
) -> None:
    home = tmp_path / "home"
    shutil.copytree(finished_home, home)
    done = lunguage(home, "run", "--data", five_reports, *arguments)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_missing_option_is_explained_without_a_traceback(tmp_path: Path, lunguage) -> None:
    done = lunguage(tmp_path, "run")
    assert done.returncode == 2
    assert "--data" in done.stderr


def test_a_batch_is_immutable_and_its_key_names_one_content(
    tmp_path: Path, five_reports: Path, sixty_reports: Path
) -> None:
    home = Home(tmp_path / "home")
    first = home.register(five_reports, "b")
    assert home.register(five_reports, "b") == first
    with pytest.raises(CorpusMismatch, match="another key"):
        home.register(sixty_reports, "b")
    assert [batch.key for batch in home.registered()] == ["b"]
    assert home.register(sixty_reports, "c").number == 1


def test_undeclared_text_counts_as_credentialed_and_is_not_mixed_with_synthetic(
    tmp_path: Path, five_reports: Path
) -> None:
    home = Home(tmp_path / "home")
    home.register(five_reports, "synthetic")
    undeclared = edited(five_reports, tmp_path / "undeclared", corpus__toml=None)
    with pytest.raises(CorpusMismatch, match="credentialed"):
        home.register(undeclared, "credentialed", corpus_name="synthetic")
    other = Home(tmp_path / "other")
    other.register(undeclared, "credentialed")
    corpus = other.corpus()
    assert corpus is not None
    assert corpus.data_class == "credentialed"


def test_the_command_line_cannot_contradict_the_declared_data_class(
    tmp_path: Path, five_reports: Path
) -> None:
    with pytest.raises(CorpusMismatch, match="declares"):
        Home(tmp_path / "home").register(five_reports, "b", data_class="credentialed")


def test_a_registration_that_was_killed_leaves_nothing_that_counts(
    tmp_path: Path, five_reports: Path
) -> None:
    home = Home(tmp_path / "home")
    abandoned = home.batches / ".b.0123.tmp"
    abandoned.mkdir(parents=True)
    (abandoned / "Lunguage.csv").write_text("half")
    assert home.registered() == []
    home.register(five_reports, "b")
    assert not abandoned.exists()


def test_the_home_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    assert home.root.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("folder", "key"), [("Delivery 2026-11", "delivery-2026-11"), ("Für Max!", "f-r-max"), ("!!!", "batch")]
)
def test_a_folder_name_gives_a_usable_batch_key(folder: str, key: str, tmp_path: Path) -> None:
    assert batch_key(tmp_path / folder) == key


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
