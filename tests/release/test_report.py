"""The report: one file that needs nothing else, says where every number comes from, and
names what was not run.
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
from headless_chromium import CHROMIUM, chromium
from small_release import Made
from stored_tables import plain_row

from lunguage_assets.annotation.method import bundled_method
from lunguage_assets.explicit.analysis.experts import numbered_experts
from lunguage_assets.explicit.probability import published_anchors
from lunguage_assets.release.context import ANALYSES
from lunguage_assets.release.page_tables import page_table
from lunguage_assets.release.phrase_scale import phrase_scale


class Page(HTMLParser):
    """Elements with their attributes in order, and the text."""

    def __init__(self, version: Path) -> None:
        super().__init__()
        self.raw = (version / "open" / "report.html").read_text(encoding="utf-8")
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(self.raw)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(
        self, tag: str, attrs: Sequence[tuple[str, str | None]]
    ) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


CURVE = {"judges": "all", "opponent_limit": 5, "panel_steps": 1}
SAID: dict[str, list[dict[str, Any]]] = {
    "judge_agreement": [
        {"measure": "pairwise agreement", "first": "cues", "second": "lexicon", "value": 0.8, "n": 40},
    ],
    "ranking_correlations": [{"first": "cues", "second": "lexicon", "spearman": 0.9}],
    "ranking_robustness": [{"comparisons": n, "repeat": 0, "spearman": 0.9} for n in (5, 10)],
    "fit_validation": [
        {**CURVE, "strategy": strategy, "step": step, "mean_distance": 9.0 / step}
        for strategy in ("draw probability", "random") for step in (1, 2)
    ],
    "expert_agreement": [
        {"first": who, "second": "panel", "value": 0.75, "n": 9} for who in ("", "dr-nameless")
    ],
}  # fmt: skip


def analyses(version: str) -> dict[str, pd.DataFrame]:
    """One or more rows of each analysis, of a ranking of this version."""
    frames = {}
    for name, table in ANALYSES.items():
        rows = [plain_row(table, **values) for values in SAID[name]]
        frames[name] = table.frame(rows).assign(ranking_version=version)
    return frames


@pytest.fixture(scope="module")
def complete(invented: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a version with all analyses, of a corpus with a name that must be
    escaped.
    """
    origin = invented.origin()
    corpus = replace(origin.corpus, name="<script>alert('corpus')</script> & more")
    return invented.write(
        tmp_path_factory.mktemp("complete"),
        origin=replace(origin, corpus=corpus),
        analyses=analyses(str(invented.ranking["ranking_version"].iloc[0])),
    ).folder


@pytest.fixture(scope="module")
def page(complete: Path) -> Page:
    return Page(complete)


def test_the_page_loads_nothing_and_runs_nothing(page: Page) -> None:
    loading = ("src", "href", "srcset", "action", "data")
    addresses = [
        str(value)
        for _, attributes in page.elements
        for name, value in attributes.items()
        if name in loading
    ]
    assert len(addresses) > 10
    own = ("data:image/png;base64,", "#")
    assert [address for address in addresses if not address.startswith(own)] == []
    running = {"script", "link", "iframe", "object", "form"}
    assert not running & {tag for tag, _ in page.elements}
    (policy,) = (
        element["content"]
        for element in page.all("meta")
        if element.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    # Shown as text, as it was given.
    assert "<script>alert('corpus')</script> & more" in page.text


def test_what_was_not_run_is_named_and_what_was_run_is_not(
    page: Page, version: Path
) -> None:
    assert "Not run for this version" not in page.text
    bare = Page(version).text
    remedy = (
        "lunguage analyse asks no judge and takes seconds; then lunguage run again."
    )
    assert bare.count(remedy) == 5
    missing = re.search(
        r"Not in this version, with the reason at its place: [^.]*", bare
    )
    for title in (
        "Agreement of judges",
        "Correlation of rankings",
        "Phrases fitted back",
    ):
        assert title in missing[0]
    assert not (version / "open" / "judge_agreement.csv").exists()


def test_the_tables_of_the_page_are_those_of_the_files(
    page: Page, complete: Path
) -> None:
    figures = pd.read_csv(complete / "open" / "table_figures.csv").set_index("measure")[
        "value"
    ]
    for measure in ("studies", "patients", "rows out", "conflicts"):
        assert re.search(rf"(^| ){measure} {figures[measure]:,.0f}( |$)", page.text), (
            measure
        )
    for phrase in pd.read_csv(complete / "open" / "ranking.csv")["phrase"]:
        assert phrase in page.text


def test_labels_are_counted_by_what_the_studies_say_of_them(complete: Path) -> None:
    counted = pd.read_csv(complete / "open" / "table_labels.csv", index_col="label")
    labels = pd.read_csv(complete / "restricted" / "labels.csv")
    studies = labels["study_id"].nunique()
    kinds = ["present", "hedged", "absent", "implied", "contradictory", "unmentioned"]
    assert (counted[kinds].sum(axis=1) == studies).all()
    assert counted.index.tolist() == labels["label"].unique().tolist()
    for label, rows in labels[labels["source"].isin(["stated", "denied"])].groupby(
        "label"
    ):
        line = counted.loc[label]
        assert line["prevalence"] == pytest.approx((rows["p"] >= 0.5).sum() / studies)
        assert line["hedged"] == rows["status"].isin(["tp", "tn"]).sum()
        assert line["present"] == (rows["status"] == "dp").sum()
    assert counted["hedged"].sum() > 0


def test_single_experts_are_numbered_by_their_agreement_with_the_ranking() -> None:
    plain = {"coding": "none", "low": None, "high": None, "n": 50}
    rows = [
        ("with ranking", "zoe", "panel", 0.9),
        ("with ranking", "amy", "panel", 0.5),
        ("with ranking", "bob", "panel", 0.7),
        ("with expert", "amy", "zoe", 0.6),
    ]
    columns = ["measure", "first", "second", "value"]
    frame = pd.DataFrame(rows, columns=columns).assign(**plain)
    numbered = numbered_experts(frame).set_index("measure")
    ranked = numbered.loc["with ranking"].set_index("first")["value"].to_dict()
    assert ranked == {"expert 1": 0.9, "expert 2": 0.7, "expert 3": 0.5}
    pair = numbered.loc["with expert", ["first", "second"]]
    assert pair.tolist() == ["expert 3", "expert 1"]


def test_experts_are_averaged_and_nobody_is_named(complete: Path) -> None:
    assert "with ranking" in (complete / "open" / "expert_agreement.csv").read_text()
    for path in complete.rglob("*"):
        assert not path.is_file() or b"dr-nameless" not in path.read_bytes(), path.name


@pytest.mark.usefixtures("unreported")
def test_analyses_of_another_ranking_are_left_out_and_the_page_says_so(
    invented: Made, tmp_path: Path
) -> None:
    other_analyses = analyses("of another ranking")
    bundle = invented.write(tmp_path, analyses=other_analyses)
    assert Page(bundle.folder).text.count("it was made with another ranking") == 5
    assert not list(bundle.folder.rglob("judge_agreement.csv"))


WIDE = {f"column_{number}": ["x"] for number in range(12)}


@pytest.mark.parametrize(
    ("columns", "heading", "cell"),
    [
        ({"mu": [1.0], "mu_low": [0.5], "mu_high": [2.0]}, "mu", "1.00 (0.50 to 2.00)"),
        ({"total": [1200], "percent_total": [12.34]}, "total", "1,200 (12.3%)"),
        (
            {**WIDE, "p_mean": [0.4312], "published_p_mean": [0.45]},
            "p_mean [paper]",
            "0.431 [0.450]",
        ),
    ],
    ids=["an interval", "a share", "the paper's value, where the table is wide"],
)
def test_what_belongs_to_a_number_stands_in_its_cell(
    columns: dict[str, list[object]], heading: str, cell: str
) -> None:
    table = page_table(pd.DataFrame(columns))
    assert len(table.columns) == len(columns.keys() & WIDE.keys()) + 1
    assert (table.columns[-1], table.rows[0][-1]) == (heading, cell)


def test_every_phrase_of_the_published_ranking_has_its_p_and_anchors_keep_theirs() -> (
    None
):
    scale = phrase_scale(bundled_method().ranking, published_anchors().anchors)
    assert len(scale) == 42
    assert scale["p"].is_monotonic_decreasing
    anchors = scale[scale["is_anchor"].astype(bool)].set_index("phrase")["p"]
    expected = {"less likely": 0.17, "most likely": 0.839}
    assert anchors.to_dict() == pytest.approx(expected, abs=0.001)


@pytest.mark.lengthy
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_at_1280_pixels_no_column_is_cut_off(version: Path, tmp_path: Path) -> None:
    with chromium(tmp_path / "profile", 1280, 900) as page:
        page.open((version / "open" / "report.html").as_uri(), "Lunguage++")
        page.evaluate(
            "document.querySelectorAll('details').forEach(part => part.open = true)"
        )
        hidden = (
            "[...document.querySelectorAll('.scroll')]"
            ".filter(one => one.scrollWidth > one.clientWidth)"
        )
        assert (
            page.evaluate(f"{hidden}.map(one => one.getAttribute('aria-label')).join()")
            == ""
        )
        heights = (
            "[...document.querySelectorAll('tr')]"
            ".map(row => row.getBoundingClientRect().height)"
        )
        assert page.evaluate(f"Math.max(...{heights})") < 120
