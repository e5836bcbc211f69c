"""The report: one file that needs nothing else, says where every number comes from, and names what was not
run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hostile_words import HOSTILE, in_a_browser, require_harmless
from small_release import Made, opened, stored

from lunguage_assets.release.bundle.bundle import write_bundle
from lunguage_assets.release.bundle.context import shown_analyses
from lunguage_assets.release.report.report import report_table
from lunguage_assets.tables import (
    FIT_VALIDATION,
    JUDGE_AGREEMENT,
    PATHWAY_AUDIT,
    RANKING_CORRELATIONS,
    RANKING_ROBUSTNESS,
)
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT
from lunguage_assets.tables.schema import Table

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """Elements with their attributes in order, the text, and whether every element is closed where it was
    opened.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.unbalanced: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.unbalanced += self._open

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def row(table: Table, **values: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {"string": "x", "int": 3, "float": 0.5, "bool": False, "strings": []}
    return {
        c.name: None if c.nullable else c.choices[0] if c.choices else plain[c.type] for c in table.columns
    } | values


NAMED = {"finding_id": "s90000001:1", "subject_id": "p90000001", "study_id": "s90000001"}
AUDITED_EDGE = row(
    PATHWAY_AUDIT,
    diagnosis="pneumonia",
    sub_finding="opacity",
    studies=41,
    mentioned=4,
    as_implied=3,
    share=0.7512,
    share_low=0.3,
    share_high=0.9,
    against_experts="below",
)


def analyses(version: str) -> dict[str, pd.DataFrame]:
    """One or two rows of each analysis, of a ranking of this version."""
    agreed = row(
        JUDGE_AGREEMENT,
        measure="pairwise agreement",
        first="cues",
        second="lexicon",
        value=0.8125,
        n=40,
    )
    correlated = row(
        RANKING_CORRELATIONS, first="cues", first_order=0, second="lexicon", second_order=0, spearman=0.9
    )
    robust = [
        row(RANKING_ROBUSTNESS, comparisons=n, repeat=0, spearman=0.9, ranking_version=version)
        for n in (5, 10)
    ]
    fitted = [
        row(
            FIT_VALIDATION,
            strategy=strategy,
            judges="all",
            opponent_limit=5,
            panel_steps=1,
            step=step,
            mean_distance=9.0 / step,
            phrases=7,
            seeds=2,
            ranking_version=version,
        )
        for strategy in ("draw probability", "random")
        for step in (1, 2)
    ]
    experts = [
        row(EXPERT_AGREEMENT, group="all", first=who, second="panel", value=0.75, n=9)
        for who in ("", "dr-nameless")
    ]
    return {
        "judge_agreement": JUDGE_AGREEMENT.frame([agreed]),
        "ranking_correlations": RANKING_CORRELATIONS.frame([correlated]),
        "ranking_robustness": RANKING_ROBUSTNESS.frame(robust),
        "fit_validation": FIT_VALIDATION.frame(fitted),
        "expert_agreement": EXPERT_AGREEMENT.frame(experts),
        "pathway_audit": PATHWAY_AUDIT.frame([AUDITED_EDGE]),
    }


@pytest.fixture(scope="module")
def complete(invented: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a version with all analyses, of a corpus with a name that must be escaped."""
    folder = tmp_path_factory.mktemp("complete")
    origin = invented.origin()
    origin = replace(origin, corpus=replace(origin.corpus, name="<script>alert('corpus')</script> & more"))
    version = str(invented.ranking["ranking_version"].iloc[0])
    return (
        folder
        / write_bundle(invented.release(), folder, origin, analyses(version), invented.examples).version
    )


@pytest.fixture(scope="module")
def page(complete: Path) -> Page:
    return Page((complete / "open" / "report.html").read_text(encoding="utf-8"))


def test_the_page_loads_nothing_and_runs_nothing(page: Page) -> None:
    addresses = [
        value or ""
        for _, attributes in page.elements
        for name, value in attributes.items()
        if name in ("src", "href", "srcset", "action", "data")
    ]
    assert len(addresses) > 15
    assert all(address.startswith(("data:image/png;base64,", "#")) for address in addresses)
    assert not [tag for tag, _ in page.elements if tag in ("script", "link", "iframe", "object", "form")]
    policy = [
        attributes["content"]
        for attributes in page.all("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]
    assert page.unbalanced == []
    assert "<script>alert('corpus')</script> & more" in page.text, "shown as text, as it was given"


@in_a_browser
def test_no_word_of_a_corpus_runs_in_the_page(invented: Made, tmp_path: Path) -> None:
    """Findings, hedges, ids, what was rejected, names of raters and of the corpus: all code at once."""
    made = {key: {n: _hostile(frame) for n, frame in b.items()} for key, b in invented.batches.items()}
    release = opened(_hostile(invented.ranking), stored(tmp_path / "tables", made))
    origin = replace(invented.origin(), corpus=replace(invented.origin().corpus, name=HOSTILE))
    version = str(invented.ranking["ranking_version"].iloc[0])
    extra = {name: _hostile(frame) for name, frame in analyses(version).items()}
    examples = invented.examples.rename(lambda word: word if word in ENDS else f"{word} {HOSTILE}")
    written = write_bundle(release, tmp_path / "release", origin, extra, examples)
    text = (written.folder / "open" / "report.html").read_text(encoding="utf-8")
    require_harmless(text, tmp_path, HOSTILE, f"may represent {HOSTILE}")


WORDS = ("ent", "name", "phrase", "phrases", "hedge", "sent", "first", "second", "group", "finding", "label")
"""Columns that hold words of a corpus or of a person."""
ENDS = ("less likely", "most likely")
"""Anchors keep their names: the scale hangs on them."""


def _hostile(frame: pd.DataFrame) -> pd.DataFrame:
    def words_of(value: str | None) -> str | None:
        return f"{value} {HOSTILE}" if value and value not in ENDS else value

    words = {n: frame[n].map(words_of, na_action="ignore")
             for n in WORDS if n in frame and frame[n].map(type).isin([str, type(None)]).all()}  # fmt: skip
    return frame.assign(**{n: values.astype(frame[n].dtype) for n, values in words.items()})


def test_every_figure_is_described_and_every_number_has_its_n_and_its_source(
    page: Page, complete: Path
) -> None:
    images = page.all("img")
    assert all(
        image["alt"] and int(image["width"] or 0) > 100 and int(image["height"] or 0) > 100
        for image in images
    )
    pictures = list((complete / "open" / "figures").iterdir())
    assert len(images) == len(pictures) >= 9
    raw = (complete / "open" / "report.html").read_text(encoding="utf-8")
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", raw) + re.findall(
        r'<p class="caption">(.*?)</p>', raw
    )
    assert len(captions) > 25
    assert all("Source: " in caption for caption in captions)
    assert all("n = " in caption or "n: " in caption or "pathway" in caption for caption in captions)
    assert raw.count("<table>") == raw.count('<div class="scroll" tabindex="0"'), (
        "tables can be scrolled on a phone, and by keyboard"
    )


def test_what_was_not_run_is_named_and_what_was_run_is_not(page: Page, version: Path) -> None:
    assert "Not run for this version" not in page.text
    bare = Page((version / "open" / "report.html").read_text(encoding="utf-8"))
    assert bare.text.count("lunguage analyse asks no judge and takes seconds; then lunguage run again.") == 6
    for title in (
        "Agreement of judges",
        "Correlation of rankings",
        "What fewer comparisons would have given",
        "Phrases fitted back",
        "Agreement with experts",
    ):
        assert re.search(rf"Not in this version, with the reason at its place: [^.]*{title}", bare.text)
    assert not (version / "open" / "judge_agreement.csv").exists()


def test_the_tables_of_the_page_are_those_of_the_files(page: Page, complete: Path) -> None:
    figures = pd.read_csv(complete / "open" / "table_figures.csv").set_index("measure")["value"]
    for measure in ("studies", "patients", "rows out", "conflicts"):
        assert re.search(rf"(^| ){measure} {figures[measure]:,.0f}( |$)", page.text), measure
    for phrase in pd.read_csv(complete / "open" / "ranking.csv")["phrase"]:
        assert phrase in page.text


def test_experts_are_averaged_and_nobody_is_named(page: Page, complete: Path) -> None:
    assert "with ranking" in (complete / "open" / "expert_agreement.csv").read_text()
    for path in complete.rglob("*"):
        assert not path.is_file() or b"dr-nameless" not in path.read_bytes(), path.name


def test_the_scale_names_its_anchors_and_holds_the_mean_inside_the_range_of_readers(
    page: Page, complete: Path
) -> None:
    scale = pd.read_csv(complete / "open" / "phrase_scale.csv")
    ranked = scale[scale["p"].notna()]
    assert (ranked["reader_low"] < ranked["p_low"]).all()
    assert (ranked["p_high"] < ranked["reader_high"]).all()
    assert scale.loc[scale["is_anchor"], "phrase"].tolist() == ["most likely", "less likely"]
    assert "very unlikely" in scale.loc[scale["p"].isna(), "phrase"].tolist()
    assert "published: arXiv 2511.04506" in page.text


@pytest.mark.usefixtures("unreported")
def test_analyses_of_another_ranking_are_left_out_and_the_page_says_so(
    invented: Made, tmp_path: Path
) -> None:
    written = write_bundle(
        invented.release(), tmp_path, invented.origin(), analyses("of another ranking"), invented.examples
    )
    page = Page((tmp_path / written.version / "open" / "report.html").read_text(encoding="utf-8"))
    assert page.text.count("it was made with another ranking") == 6
    assert shown_analyses(analyses("v"), invented.ranking) == ({}, True)


def test_numbers_stand_to_the_right_with_fixed_decimals_and_p_is_drawn_where_there_is_one() -> None:
    frame = pd.DataFrame({"what": ["a", "b"], "p": [0.5, None], "low": [0.4, None], "high": [0.7, None]})
    made = report_table(frame, {"p": 2}, ("low", "p", "high"))
    assert made.numeric == (False, True, True, True)
    assert made.rows == (("a", "0.50", "0.4", "0.7"), ("b", "", "", ""))
    assert made.bars == ((0.4, 0.5, 0.7), None)
    assert report_table(frame).bars == ()
