"""A change makes stale exactly what follows from it, says why, is planned for no
further, and can be undone.

One row per kind of change. `FOLLOWS` is written by hand from the method: the steps
below each step.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from finished_homes import Finished
from small_homes import SmallHome
from stored_tables import store_table

from lunguage_assets.explicit.fit.anchors import published_anchors
from lunguage_assets.lineage.input_fingerprints import OPTIONS
from lunguage_assets.lineage.recipes import RECIPES
from lunguage_assets.lineage.run_plan import plan
from lunguage_assets.lineage.staleness import CHANGED_BY_HAND, CURRENT, StalenessChecker
from lunguage_assets.packaged_data import resource
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.store import partition_path, read_table, stored_record
from lunguage_assets.workspace.table_record import TableRecord

BATCHES = ("first", "second")
OVER_ALL = ("release",)
RESULT = ("deduplicated_findings", "expansions", "lunguage_plus_plus", *OVER_ALL)
ANALYSES = ("judge_agreement", "fit_validation")
FOLLOWS = {
    # of raw reports, which are not in this home
    **dict.fromkeys(
        ("report_texts", "structured_findings", "structuring_agreement"), ()
    ),
    "findings": ("hedge_phrases", "fitted_probabilities", *RESULT),
    "hedge_phrases": (
        "fitted_probabilities",
        *RESULT,
    ),  # a vocabulary is collected again on request only
    "hedge_vocabulary": (
        *("comparison_matches", "reference_ranking", "fitted_probabilities"),
        *(*RESULT, *ANALYSES),
    ),
    "comparison_matches": (
        "reference_ranking",
        "fitted_probabilities",
        *RESULT,
        *ANALYSES,
    ),
    "reference_ranking": ("fitted_probabilities", *RESULT, *ANALYSES),
    "fitted_probabilities": RESULT,
    "deduplicated_findings": RESULT[1:],
    "expansions": RESULT[2:],
    "lunguage_plus_plus": RESULT[3:],
    **dict.fromkeys((*OVER_ALL, *ANALYSES), ()),
}
KEYS = {
    **{
        step: []
        for step in ("report_texts", "structured_findings", "structuring_agreement")
    },
    "findings": [(batch,) for batch in BATCHES],
    "hedge_phrases": [("lexicon", batch) for batch in BATCHES],
    "hedge_vocabulary": [("lexicon",)],
    "comparison_matches": [("lexicon",), ("cues",)],
    **{step: [("panel",)] for step in ("reference_ranking", *OVER_ALL, *ANALYSES)},
    **{
        step: [("panel", batch) for batch in BATCHES]
        for step in ("fitted_probabilities", *RESULT[:3])
    },
}
"""Partitions that are in the finished home."""

Stale = dict[str, set[str]]
"""Table with its partition -> reasons."""


def below(reason: str, *steps: str, batch: str = "") -> Stale:
    """These steps and all that follow from them, of one batch or all, stale for this
    reason.
    """
    struck = {*steps, *(step for above in steps for step in FOLLOWS[above])}
    return {
        f"{table}/{'/'.join(keys)}": {reason}
        for step in struck
        for keys in KEYS[step]
        if not batch or batch in keys or not set(BATCHES) & set(keys)
        for table in RECIPES[step].tables
    }


def all_of(*changes: Stale) -> Stale:
    together: Stale = {}
    for change in changes:
        for table, reasons in change.items():
            together[table] = together.get(table, set()) | reasons
    return together


def not_current(checker: StalenessChecker) -> Stale:
    """Every table of the finished home that is not current."""
    partitions = [
        (table, keys)
        for step in KEYS
        for table in RECIPES[step].tables
        for keys in KEYS[step]
    ]
    staleness = {
        f"{table}/{'/'.join(keys)}": checker.of(table, *keys)
        for table, keys in partitions
    }
    return {
        table_path: {*standing.because} or {standing.state}
        for table_path, standing in staleness.items()
        if standing != CURRENT
    }


def planned(checker: StalenessChecker) -> list[str]:
    return [str(stage) for stage in plan(checker, "panel")]


def setting(group: str, line: str) -> Callable[[SmallHome], None]:
    """A change of one option."""

    def change(small: SmallHome) -> None:
        text = small.home.settings_file.read_text()
        name = line.split(" ")[0]
        kept = [row for row in text.splitlines() if not row.startswith(f"{name} ")]
        if f"[{group}]" not in kept:
            kept.append(f"[{group}]")
        kept.insert(kept.index(f"[{group}]") + 1, line)
        small.home.settings_file.write_text("\n".join(kept) + "\n")

    return change


def anchors(small: SmallHome) -> None:
    ratings = [
        f"{rater},{anchor.phrase},Invented sentence.,{rating}"
        for anchor in published_anchors()
        for rater, rating in (("a", 20), ("b", 60))
    ]
    small.home.anchor_ratings.write_text(
        "\n".join(["rater,phrase,sentence,rating", *ratings]) + "\n"
    )


def pathways(small: SmallHome) -> None:
    packaged = resource("pathways.yaml").read_text(encoding="utf-8")
    changed = packaged.replace("finding: hyperinflation", "finding: hyperexpansion")
    (small.home.root / "pathways.yaml").write_text(changed, encoding="utf-8")


def correction(small: SmallHome) -> None:
    """One pair of the first batch is said to have no phrase."""
    hedges = read(small, "hedge_phrases", "lexicon", "first")
    finding_id = hedges.loc[hedges["phrases"].map(len) > 0, "finding_id"].iloc[0]
    small.home.corrections_file.write_text(f"finding_id,phrases\n{finding_id},\n")


def experts(small: SmallHome) -> None:
    small.home.expert_responses.write_text("pair,phrase_1,phrase_2,expert_1\n")


def nothing_that_counts(small: SmallHome) -> None:
    """Options of checks, landing, automation and kept versions; the device of an
    encoder that is not used.
    """
    with small.home.settings_file.open("a") as stream:
        stream.write(
            "[checks]\nrejected_share = 0.5\n[landing]\nstable_s = 1\n[automation]\nenabled = true\n"
        )
        stream.write(
            "[release]\nkeep = 3\n[implicit]\nencoder_device = 'cpu'\nencoder_batch_size = 8\n"
        )


def path_of(small: SmallHome, table: str, *keys: str) -> Path:
    return Path(str(partition_path(small.home.tables, table, *keys)))


def read(small: SmallHome, table: str, *keys: str) -> pd.DataFrame:
    return read_table(TABLES[table], path_of(small, table, *keys))


def edited_in_place(small: SmallHome) -> None:
    """One column, by pyarrow, with the record handed on."""
    path = path_of(small, "fitted_probabilities", "panel", "first")
    table = pq.read_table(path)
    number = table.schema.get_field_index("p")
    half = pa.array([0.5] * len(table), table.schema.field("p").type)
    changed = pc.if_else(pc.is_null(table["p"]), table["p"], half)
    record = pq.read_metadata(path).metadata[b"lunguage"].decode()
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table.set_column(number, table.schema.field("p"), changed))
        writer.add_key_value_metadata({"lunguage": record})


def exchanged(small: SmallHome) -> None:
    """The expansions of a batch under another's name."""
    first_batch, second_batch = (
        path_of(small, "expansions", "panel", batch) for batch in BATCHES
    )
    first_batch.write_bytes(second_batch.read_bytes())


def deleted(small: SmallHome) -> None:
    path_of(small, "expansions", "panel", "first").unlink()


def made_again(small: SmallHome) -> None:
    """Sound fits of the first batch with other numbers, as from a copy of the home."""
    path = path_of(small, "fitted_probabilities", "panel", "first")
    record = stored_record(TABLES["fitted_probabilities"], path)
    assert isinstance(record, TableRecord)
    frame = read(small, "fitted_probabilities", "panel", "first")
    changed = frame.assign(steps=frame["steps"] + 1)
    store_table(
        TABLES["fitted_probabilities"], changed, path, record.keys, record.made_of
    )


@dataclass(frozen=True)
class Row:
    """A change, what it makes stale and why, and what a run then does."""

    change: Callable[[SmallHome], None]
    stale: Stale
    plan: tuple[str, ...]


REFIT = tuple(f"refit (panel x {batch})" for batch in BATCHES)
EXPAND = tuple(f"expand (panel x {batch})" for batch in BATCHES)
COMPARE = ("compare (lexicon)", "compare (cues)")
RANK = ("rank (panel)",)
OUT = ("release (panel)",)


def by_hand(table: str, *keys: str) -> str:
    return f"{table} ({', '.join(keys)}) {CHANGED_BY_HAND}"


ROWS = {
    "a setting of the intake": Row(
        setting("corpus", 'default_view = "pa"'),
        below("corpus settings changed", "findings"),
        (
            *("ingest (first)", "extract_hedges (lexicon x first)"),
            *("ingest (second)", "extract_hedges (lexicon x second)"),
            *REFIT,
            *OUT,
        ),
    ),
    "a setting of the comparisons": Row(
        setting("explicit", "repetitions = 2"),
        below(
            "comparison settings changed",
            "comparison_matches",
            "judge_agreement",
            "fit_validation",
        ),
        (*COMPARE, *RANK, *REFIT, *OUT),
    ),
    "a setting of the fit": Row(
        setting("explicit", "step_limit = 17"),
        below("fit settings changed", "fitted_probabilities", "fit_validation"),
        (*REFIT, *OUT),
    ),
    "options that change no result": Row(nothing_that_counts, {}, ()),
    "ratings of the anchors": Row(
        anchors, below("anchors changed", "fitted_probabilities"), (*REFIT, *OUT)
    ),
    "a pathway": Row(
        pathways, below("pathways changed", "expansions"), (*EXPAND, *OUT)
    ),
    "a correction in one batch": Row(
        correction,
        below("corrections changed", "hedge_phrases", batch="first"),
        ("extract_hedges (lexicon x first)", REFIT[0], *OUT),
    ),
    "answers of experts": Row(
        experts, below("expert responses changed", "judge_agreement"), ()
    ),
    "a table edited in place": Row(
        edited_in_place,
        {
            **below(
                by_hand("fitted_probabilities", "panel", "first"),
                "deduplicated_findings",
                batch="first",
            ),
            "fitted_probabilities/panel/first": {
                by_hand("fitted_probabilities", "panel", "first")
            },
        },
        (REFIT[0], *OUT),
    ),
    "a table of another batch": Row(
        exchanged,
        {
            **below(
                by_hand("expansions", "panel", "first"),
                "lunguage_plus_plus",
                batch="first",
            ),
            "expansions/panel/first": {by_hand("expansions", "panel", "first")},
        },
        (EXPAND[0], *OUT),
    ),
    "a table deleted": Row(
        deleted,
        {
            **below(
                "expansions (panel, first) is missing",
                "lunguage_plus_plus",
                batch="first",
            ),
            "expansions/panel/first": {"missing"},
        },
        (EXPAND[0], *OUT),
    ),
    "a sound table of other rows": Row(
        made_again,
        below(
            "fitted_probabilities (panel, first) made again",
            "deduplicated_findings",
            batch="first",
        ),
        (EXPAND[0], *OUT),
    ),
}


@pytest.fixture(scope="module")
def copied(
    finished: Finished, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SmallHome]:
    """A copy of the finished home; what Dagster knows of it is not asked here."""
    root = tmp_path_factory.mktemp("copied") / "home"
    shutil.copytree(finished.home, root)
    with SmallHome.opened(root) as opened:
        yield opened


@pytest.fixture(scope="module")
def before(copied: SmallHome) -> dict[Path, bytes]:
    return {
        path: path.read_bytes()
        for path in copied.home.root.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def undone(copied: SmallHome, before: dict[Path, bytes]) -> Callable[[], None]:
    """Puts every file of the home back as it was."""

    def undo() -> None:
        for path in [path for path in copied.home.root.rglob("*") if path.is_file()]:
            if path not in before:
                path.unlink()
        for path, content in before.items():
            if not path.exists() or path.read_bytes() != content:
                path.write_bytes(content)

    return undo


@pytest.fixture
def small(copied: SmallHome, undone: Callable[[], None]) -> Iterator[SmallHome]:
    """The copy; whatever a test changes in it is undone."""
    yield copied
    undone()


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_change_makes_stale_what_follows_from_it_and_nothing_else(
    row: Row, small: SmallHome, undone: Callable[[], None]
) -> None:
    row.change(small)
    checker = small.staleness()
    assert not_current(checker) == row.stale
    assert planned(checker) == list(row.plan)
    undone()
    checker = small.staleness()
    assert not_current(checker) == {}
    assert planned(checker) == []


@pytest.mark.parametrize(
    "step",
    [
        "findings",
        "hedge_vocabulary",
        "comparison_matches",
        "expansions",
    ],
)
def test_new_code_of_a_step_makes_its_tables_stale(
    step: str, small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RECIPES, step, replace(RECIPES[step], code="another"))
    assert not_current(small.staleness()) == below(f"code of {step} changed", step)


def test_edited_prompts_of_a_judge_make_only_its_own_answers_stale(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lunguage_assets.explicit import open_judges

    honest = open_judges.judge_identity

    def reworded(key: str, *arguments: object) -> str:
        return honest(key, *arguments) + ("reworded" if key == "cues" else "")  # type: ignore[arg-type]

    monkeypatch.setattr(open_judges, "judge_identity", reworded)
    expected = all_of(
        below("judge changed", "reference_ranking"),
        below("members changed", "fitted_probabilities"),
    )
    expected["comparison_matches/cues"] = {"judge changed"}
    assert not_current(small.staleness()) == expected
    assert small.plan() == ["compare (cues)", *RANK, *REFIT, *OUT]


def judges_with(file: Path, panel: str, candidates: str = "") -> Path:
    """A copy of the judges file with a judge `new`, in the panel or beside it."""
    text = resource("judges.toml").read_text()
    text = text.replace('members = ["lexicon", "cues"]', f"members = {panel}")
    text = text.replace(
        '[presets.offline]\npanel = "offline"\n',
        f'[presets.offline]\npanel = "offline"\n{candidates}',
    )
    file.write_text(
        text + '\n[judges.new]\nprovider = "cues"\ndescription = "Just added."\n'
    )
    return file


def test_a_candidate_leaves_the_panel_current_and_a_member_does_not(
    finished: Finished, tmp_path: Path
) -> None:
    beside = judges_with(
        tmp_path / "beside.toml", '["lexicon", "cues"]', 'candidates = ["new"]\n'
    )
    with SmallHome.opened(finished.home, judges_file=beside) as small:
        assert not_current(small.staleness()) == {}
        assert small.plan() == []
    within = judges_with(tmp_path / "within.toml", '["lexicon", "cues", "new"]')
    with SmallHome.opened(finished.home, judges_file=within) as small:
        expected = all_of(
            below("comparison_matches (new) is missing", "reference_ranking"),
            below("members changed", "fitted_probabilities"),
        )
        assert not_current(small.staleness()) == expected
        assert small.plan() == ["compare (new)", *RANK, *REFIT, *OUT]


def test_a_judge_of_ones_own_inherits_what_is_shared(
    small: SmallHome,
) -> None:
    alone = [
        "rank (cues)",
        "refit (cues x first)",
        "refit (cues x second)",
        "release (cues)",
    ]
    assert small.plan("cues") == alone


def test_every_option_of_the_method_is_read_by_a_step(small: SmallHome) -> None:
    """An option that nobody reads would change a result and make nothing stale."""
    options_read = {group: set[str]() for group, _ in OPTIONS.values()}
    for group, options in OPTIONS.values():
        options_read[group] |= options
    settings = small.configuration.settings
    assert set(settings.explicit.model_dump()) == options_read["explicit"] | {
        "anchors",
        "fit",
    }, "which count as they are"
    implicit = set(settings.implicit.model_dump())
    encoder = {option for option in implicit if option.startswith("encoder")}
    assert implicit - options_read["implicit"] == encoder, (
        "the encoder counts by its identity"
    )
    checker = small.staleness()
    keys = {
        "judge": "lexicon",
        "ranker": "panel",
        "structurer": "rules",
        "report_batch": "first",
    }
    for step, recipe in RECIPES.items():
        for name in recipe.reads:
            assert checker.fingerprint(name, keys), (step, name)


def test_a_renewed_analysis_asks_for_a_release_a_stale_one_does_not(
    small: SmallHome,
) -> None:
    small.home.settings_file.write_text(
        small.home.settings_file.read_text() + "\n[checks]\nrejected_share = 0.5\n",
        encoding="utf-8",
    )
    assert small.plan() == []
    path = partition_path(small.home.tables, "judge_agreement", "panel")
    path.unlink()
    assert not_current(small.staleness()) == {
        "judge_agreement/panel": {"missing"},
        "release/panel": {"a batch or an analysis was removed"},
    }
    assert small.plan() == list(OUT)
