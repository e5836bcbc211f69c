"""Where every column comes from is declared once, for every table, and agrees with the asset graph."""

from __future__ import annotations

import base64
import io

import dagster as dg
import pandas as pd
import pytest
from lunguage_assets.orchestration.lineage import column_lineage
from lunguage_assets.tables.origins import ORIGINS, described, explained, made_here, sources, taken_over
from PIL import Image, ImageChops

from lunguage_assets.home.home import Home
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.metadata import account_of, as_written, column_schema, counts, picture
from lunguage_assets.pictures.plots import probability_histogram


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> dg.AssetGraph:
    return build_defs(Home(tmp_path_factory.mktemp("home"))).resolve_asset_graph()


def test_every_asset_with_columns_says_where_they_come_from(graph: dg.AssetGraph) -> None:
    with_columns = {
        key.to_user_string()
        for key in graph.get_all_asset_keys()
        if "dagster/column_schema" in graph.get(key).metadata
    }
    assert with_columns == set(ORIGINS)


@pytest.mark.parametrize("table", ORIGINS)
def test_every_column_comes_from_somewhere_or_is_made_here_and_not_both(table: str) -> None:
    derived, new = set(sources(table)), set(made_here(table))
    assert derived | new == set(described(table).names)
    assert derived & new == set()


@pytest.mark.parametrize("table", ORIGINS)
def test_what_a_column_comes_from_is_a_column_of_a_table_that_the_asset_reads(
    table: str, graph: dg.AssetGraph
) -> None:
    read = {key.to_user_string() for key in graph.get(dg.AssetKey(table)).parent_keys}
    for column, found in sources(table).items():
        for upstream, name in found:
            assert upstream in read, (column, upstream)
            assert name in described(upstream).names, (column, upstream, name)


def test_the_lineage_of_a_probability_ends_in_the_sentence_the_phrases_and_the_ranking() -> None:
    assert {
        (dep.asset_key.to_user_string(), dep.column_name)
        for dep in column_lineage("fitted_probabilities").deps_by_column["p"]
    } >= {
        ("findings", "masked_sentence"),
        ("hedge_phrases", "phrases"),
        ("reference_ranking", "mu"),
    }
    back, seen = {("release", "prob")}, set()
    while back:
        table, column = back.pop()
        seen.add(table)
        back |= set(sources(table).get(column, ()))
    assert seen == {
        "release",
        "lunguage_plus_plus",
        "deduplicated_findings",
        "expansions",
        "fitted_probabilities",
        "reference_ranking",
        "comparison_matches",
        "hedge_vocabulary",
        "hedge_phrases",
        "findings",
    }


def test_a_column_that_is_only_passed_on_has_the_type_of_its_source() -> None:
    passed = [
        (table, column, source)
        for table in ORIGINS
        for column, found in taken_over(table).items()
        for source in found
    ]
    assert len(passed) > 100
    for table, column, (upstream, name) in passed:
        assert described(table).column(column).type == described(upstream).column(name).type, (table, column)


def test_the_columns_in_the_ui_tell_their_origin_and_lose_no_word() -> None:
    shown = {
        column.name: column.description or "" for column in column_schema(described("hedge_phrases")).columns
    }
    assert shown["finding_id"].endswith("*As in findings.*")
    assert "*From findings: ent, sent, masked_sentence, measurement, severity, onset.*" in shown["phrases"]
    assert shown["corrected"].endswith("*Made here: corrections.csv in the home.*")
    assert "[report text]" in shown["sent"]
    assert explained("findings") == {}, "what is read from files has no table to name"
    assert as_written("every mention as <finding>; 3 < 5") == "every mention as `<finding>`; 3 < 5"


def test_counts_are_a_table_with_shares_and_bars() -> None:
    table = counts({"kept": 8, "merged": 2, "never": 0}, "disposition").value
    assert table.splitlines() == [
        "| disposition | rows | share | |",
        "|---|---:|---:|---|",
        "| kept | 8 | 80.0% | ████████████████ |",
        "| merged | 2 | 20.0% | ████ |",
    ]
    assert counts({"a": 3, "b": 2, "c": 1}, "letter", most=2).value.splitlines()[2:] == [
        "| a | 3 | 50.0% | ████████████████ |",
        "| b | 2 | 33.3% | ██████████▋ |",
    ], "shares are of all, also of those not shown"
    assert counts({}, "nothing").value == "none"
    assert account_of({"rows_in": 4, "merged": 0, "rows_out": 4}, "account").value.splitlines()[2:] == [
        "| rows in | 4 | 100.0% | ████████████████ |",
        "| merged | 0 | 0.0% |  |",
        "| rows out | 4 | 100.0% | ████████████████ |",
    ]


def test_a_rare_count_still_shows() -> None:
    assert counts({"many": 100_000, "one": 1}, "of").value.splitlines()[-1] == "| one | 1 | 0.0% | ▏ |"


def test_a_picture_is_stored_smaller_and_shows_the_same() -> None:
    drawn = probability_histogram(pd.Series([0.1, 0.2, 0.2, 0.9]))
    kept = base64.b64decode(
        picture(drawn).value.removeprefix("![plot](data:image/png;base64,").removesuffix(")")
    )
    assert picture(drawn).value == picture(drawn).value, "the same bytes again"
    assert len(kept) < len(drawn)
    with Image.open(io.BytesIO(drawn)) as before, Image.open(io.BytesIO(kept)) as after:
        assert after.size == before.size
        difference = ImageChops.difference(before.convert("RGB"), after.convert("RGB"))
        assert max(high for _, high in difference.getextrema()) < 64
