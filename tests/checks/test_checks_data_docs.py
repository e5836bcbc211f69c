"""Data Docs: the outcome of every rule on every stored partition, without network, and without a value of any
table.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from platform_support import contents
from small_homes import store_unchecked

from lunguage_assets.cli.main import commands
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.home.home import Corpus, Home
from lunguage_assets.home.store import partition_path, write_table
from lunguage_assets.quality.data_docs import build_data_docs, stored_partitions
from lunguage_assets.tables import ACCOUNTING, HEDGE_PHRASES, TERMS

PLANTED = "zanzibarine"
LOADED = re.compile(
    r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"'](?:https?:)?//|url\(['\"]?(?:https?:)?//|@import|<script",
    re.IGNORECASE,
)


def phrases(**changes: object) -> pd.DataFrame:
    row = {
        "finding_id": "s00000001:1",
        "study_id": "s00000001",
        "ent": PLANTED,
        "sent": PLANTED,
        "masked_sentence": f"<finding> {PLANTED}",
    }
    rest = {
        "phrases": [PLANTED],
        "dropped": [],
        "answer_state": "valid",
        "corrected": False,
        "needs_review": True,
        "review_reason": PLANTED,
    }
    return HEDGE_PHRASES.frame([{**row, **rest, **changes}])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A credentialed home: sound tables, one that breaks its rules with planted values, one of an older
    schema.
    """
    home = Home(tmp_path_factory.mktemp("docs") / "home")
    home.claim(Corpus("ours", "credentialed"))
    accounts = {column.name: True if column.type == "bool" else 0 for column in ACCOUNTING.columns} | {
        "study_id": "s00000001"
    }
    write_table(
        ACCOUNTING, ACCOUNTING.frame([accounts]), partition_path(home.tables, "accounting", "panel", "first")
    )
    write_table(HEDGE_PHRASES, phrases(), partition_path(home.tables, "hedge_phrases", "lexicon", "first"))
    poisoned = phrases(masked_sentence=PLANTED, answer_state=PLANTED, study_id=PLANTED, finding_id=PLANTED)
    store_unchecked(
        HEDGE_PHRASES, poisoned, Path(str(partition_path(home.tables, "hedge_phrases", "lexicon", "second")))
    )
    term = {"category": "PF", "subcategory": "", "target_term": PLANTED, "normed_term": PLANTED}
    old = Path(str(partition_path(home.tables, "terms", "first")))
    write_table(TERMS, TERMS.frame([term]), old)
    pq.write_table(pq.read_table(old).drop_columns(["subcategory"]), old)
    os.utime(old, (1_700_000_000, 1_700_000_000))
    return home


@pytest.fixture(scope="module")
def site(home: Home) -> Path:
    """The site, built by the command."""
    done = CliRunner().invoke(commands, ["docs", "--home", str(home.root)])
    assert done.exit_code == 0, done.output
    assert "4 partitions, 1 with a rule that fails, 1 that cannot be read" in done.output
    assert "[2/4] hedge_phrases (lexicon x first)" in done.output
    assert PLANTED not in done.output
    return home.root / "docs"


def test_every_stored_partition_is_in_the_index_with_its_counts_and_a_page_of_its_own(
    site: Path, home: Home
) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    for label in ("panel x first", "lexicon x first", "lexicon x second"):
        assert label in index
    pages = re.findall(r'href="(validations/[^"]+)"', index)
    assert len(pages) == 3
    assert all((site / page).is_file() for page in pages)
    assert all(
        (site / "expectations" / f"{table}.html").is_file()
        for table in ("accounting", "hedge_phrases", "terms")
    )
    assert "Materialise it again" in index, "the partition of an older schema"
    assert "2023-11-14 22:13" in index, "when it was stored"
    assert [partition.label for partition in stored_partitions(home.tables, ["terms"])] == ["first"]


def test_the_failing_partition_says_how_many_rows_and_what_to_do(site: Path) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    assert re.search(r'lexicon x second</td>.*?class="fails">4<', index, re.DOTALL)
    (page,) = site.glob("validations/hedge_phrases/lexicon+second/*/*.html")
    assert "100% unexpected" in page.read_text(encoding="utf-8")
    assert "on this partition again" in (site / "expectations" / "hedge_phrases.html").read_text(
        encoding="utf-8"
    )


def test_no_value_of_a_table_is_in_any_file(site: Path) -> None:
    found = contents(site)
    assert len(found) > 8
    for path, content in found.items():
        assert PLANTED.encode() not in content.lower(), path
        assert b"s00000001" not in content, path


def test_no_page_loads_anything_from_elsewhere_or_runs_a_script(site: Path) -> None:
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = path.read_text(encoding="utf-8")
        assert not LOADED.search(text), path
        for link in re.findall(r'(?:src|href)="([^"#:]+)"', text):
            assert (path.parent / link).exists(), (path, link)


def test_the_same_tables_give_the_same_bytes_and_replace_the_site_as_a_whole(site: Path, home: Home) -> None:
    before = contents(site)
    (site / "left over.html").write_text("old")
    build_data_docs(home.tables, site)
    assert contents(site) == before
    assert [path for path in site.parent.iterdir() if path.name.endswith(".tmp")] == []


def test_named_batches_are_shown_alone_with_the_tables_that_have_none(home: Home, tmp_path: Path) -> None:
    shown = [(part.table.name, part.label) for part in stored_partitions(home.tables, batches=["second"])]
    assert ("hedge_phrases", "lexicon x second") in shown
    assert {label for _, label in shown if "first" in label} == set()
    command = ["docs", "--home", str(home.root), "--out", str(tmp_path / "site"), "--batch"]
    done = CliRunner().invoke(commands, [*command, "second"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-2].startswith("  hedge_phrases (lexicon x second)"), done.output
    refused = CliRunner().invoke(commands, [*command, "third"])
    assert isinstance(refused.exception, ConfigurationError)
    assert "'third'" in str(refused.exception)


def test_a_folder_that_holds_something_else_is_left_alone(home: Home, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigurationError, match="something else"):
        build_data_docs(home.tables, tmp_path)
    with pytest.raises(ConfigurationError, match="not known"):
        build_data_docs(home.tables, tmp_path / "new", ["no_table"])
    assert contents(tmp_path) == {"mine.txt": b"mine"}


def test_a_home_without_tables_has_a_site_that_says_so(tmp_path: Path) -> None:
    built = build_data_docs(tmp_path / "tables", tmp_path / "docs")
    assert built.partitions == 0
    assert "Nothing is stored yet" in built.index.read_text(encoding="utf-8")
