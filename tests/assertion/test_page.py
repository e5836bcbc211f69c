"""The page of the method says of the categories what the code says."""

from __future__ import annotations

from pathlib import Path

from lunguage_assets.assertion.categories import CATEGORIES, PRECEDENCE
from lunguage_assets.assertion.reader import read_assertions
from lunguage_assets.assertion.vocabulary import build_vocabulary

PAGE = Path(__file__).resolve().parents[2] / "docs" / "method" / "assertion.md"


def table_of_categories() -> list[str]:
    """The rows of the page's table, as the code has them."""
    return [
        f"| `{category}` | {rule.makes or 'nothing by itself'} | {rule.says} |"
        for category, rule in CATEGORIES.items()
    ]


def test_the_page_has_the_table_of_the_categories() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    begin = lines.index("|---|---|---|") + 1
    end = lines.index("", begin)
    assert lines[begin:end] == table_of_categories()


def sentences_of_page() -> list[tuple[str, str]]:
    """The sentences of the second table, with how their effusion is meant."""
    rows = (
        PAGE.read_text(encoding="utf-8")
        .split("|:---|:---|\n")[1]
        .split("\n\n")[0]
        .splitlines()
    )
    cells = (row.strip("| ").split(" | ") for row in rows)
    return [(sentence, meant) for sentence, meant in cells]


def meant_effusion(sentence: str) -> list[str]:
    """How the effusion of a sentence is meant."""
    begin = sentence.index("effusion")
    assertions = read_assertions(sentence, "find", build_vocabulary())
    return [assertion.shown for assertion in assertions if assertion.begin == begin]


def test_the_sentences_of_the_page_mean_what_it_says() -> None:
    read = {sentence: meant_effusion(sentence) for sentence, _ in sentences_of_page()}
    assert read == {sentence: [meant] for sentence, meant in sentences_of_page()}


def test_the_page_has_the_order_of_what_wins() -> None:
    assert ", ".join(PRECEDENCE) + "." in PAGE.read_text(encoding="utf-8").splitlines()
