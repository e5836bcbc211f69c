"""Time and memory of the implicit half from 1,473 reports to all of MIMIC-CXR: `python
benchmarks/implicit_scale.py [options] [reports ...]`.

Invented rows with what costs time in real ones: diagnoses, signs, places, hedges, references, about 9.7
findings per report, and at least three tenths of the linearised phrases distinct. Seeded by size and batch,
so that two runs time the same work. Every size is run in a process of its own; its batches run one after the
other, as `report_batch` partitions do. `--encoder precomputed` writes random vectors of 768 numbers for the
phrases that are compared, and times reading them back.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.encoders.contract import Embedder, pair_cosines
from lunguage_assets.implicit.encoders.lexical import LexicalEmbedder
from lunguage_assets.implicit.encoders.precomputed import PrecomputedEmbedder, write_vectors
from lunguage_assets.implicit.expansion.expand import expand
from lunguage_assets.implicit.merging.blacklist import Blacklist, load_blacklist
from lunguage_assets.implicit.merging.candidates import linearise
from lunguage_assets.implicit.merging.deduplicate import compared_phrases, deduplicate
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary, load_dictionary
from lunguage_assets.implicit.resolution.accounting import account
from lunguage_assets.implicit.resolution.guarantees import violations
from lunguage_assets.implicit.resolution.resolve import resolve
from lunguage_assets.implicit.rows import CLINICAL_ATTRIBUTES
from lunguage_assets.settings import ImplicitSettings
from lunguage_assets.tables import ATTRIBUTES, FINDINGS, FITTED_PROBABILITIES, REJECTED, REPORTS, TERMS

SIZES = (1_473, 10_000, 100_000, 227_835)
FINDINGS_PER_REPORT = 9.66  # 2.2 million findings in 227,835 reports
STATEMENTS_PER_FINDING = (
    0.42  # distinct things that can be said; drawn unevenly, so that more than three tenths are said
)
METHOD = ("deduplicate", "expand", "resolve")

SAID = (
    "opacity", "pleural effusion", "effusion", "atelectasis", "pneumothorax", "consolidation",
    "pulmonary edema", "pneumonia", "nodule", "mass", "cardiomegaly", "heart size", "CHF", "emphysema",
    "COPD", "fracture", "blunting", "volume loss", "hilar enlargement", "scarring", "lung volumes", "tube",
    "catheter", "vascular congestion", "calcification", "granuloma", "thickening", "hernia", "tortuous aorta",
    "degenerative change", "cardiomediastinal silhouette", "hilar contour", "bony structure",
    "sternotomy wire", "endotracheal tube", "nasogastric tube", "central line", "pacemaker",
    "aortic calcification", "osteophyte", "scoliosis", "infiltrate", "interstitial marking",
    "vascular redistribution", "hemidiaphragm elevation", "pleural thickening", "bronchial wall thickening",
    "fissure", "azygos lobe", "surgical clip",
)  # fmt: skip
SIDES = ("", "", "", "right", "left", "bilateral")
ZONES = (
    "",
    "",
    "",
    "lower lobe",
    "upper lobe",
    "middle lobe",
    "lung base",
    "lung apex",
    "costophrenic angle",
    "hilum",
    "mid lung",
    "lingula",
)
WORDS: dict[str, tuple[str, ...]] = {
    "morphology": ("", "", "", "patchy", "hazy", "linear", "rounded", "reticular"),
    "distribution": ("", "", "", "diffuse", "focal", "multifocal"),
    "measurement": ("", "", "", "", "increased", *(f"{size} mm" for size in range(2, 22))),
    "severity": ("", "", "mild", "moderate", "severe"),
    "no_change": ("", "", "", "stable", "unchanged"),
    "comparison": ("", "", "", "prior", "old film"),
}
VIEWS = ("ap", "pa, lateral", "ap, supine", "")

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Tools:
    """What every batch is worked with."""

    vocabulary: Vocabulary
    dictionary: PathwayDictionary
    blacklist: Blacklist
    settings: ImplicitSettings


@dataclass
class Measured:
    """Sums over the batches of one size; seconds of wall and of CPU time by stage."""

    reports: int
    findings: int = 0
    phrases: set[int] = field(default_factory=set)
    rows_out: int = 0
    broken: int = 0
    wall: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)

    def timed(self, stage: str, work: Callable[[], Any]) -> Any:
        """The result of the work, its time added to the stage."""
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        self.wall[stage] = self.wall.get(stage, 0.0) + time.perf_counter() - wall
        self.cpu[stage] = self.cpu.get(stage, 0.0) + time.process_time() - cpu
        return result

    def method(self, seconds: dict[str, float]) -> float:
        """Seconds of deduplicating, matching, expanding and resolving."""
        return sum(seconds[stage] for stage in METHOD)


class TimedEmbedder:
    """An encoder whose share of the time is measured."""

    def __init__(self, inner: Embedder, measured: Measured) -> None:
        self._inner, self._measured = inner, measured
        self.identity = inner.identity

    def cosines(
        self, phrases: Sequence[str], first: Sequence[int], second: Sequence[int]
    ) -> NDArray[np.float64]:
        """As the encoder does, or from its vectors."""
        found: NDArray[np.float64] = self._measured.timed(
            "encoder", lambda: pair_cosines(self._inner, phrases, first, second)
        )
        return found


def statements(size: int) -> dict[str, Codes]:
    """What can be said in a corpus of that many reports: codes into the lists above, equal for all of its
    batches.
    """
    dice = np.random.default_rng(size)
    count = max(1, int(STATEMENTS_PER_FINDING * size * FINDINGS_PER_REPORT))
    lists = {"ent": SAID, "side": SIDES, "zone": ZONES, **WORDS}
    return {name: dice.integers(0, len(values), count) for name, values in lists.items()}


def texts(values: tuple[str, ...] | list[str], codes: Codes) -> list[str]:
    """The values by their codes."""
    named: list[str] = np.array(values, dtype=object)[codes].tolist()
    return named


def batch(
    size: int, first: int, reports: int, vocabulary: Vocabulary
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """FINDINGS, FITTED_PROBABILITIES and REPORTS of the reports from number `first`."""
    dice = np.random.default_rng((size, first))
    lengths = np.maximum(1, dice.poisson(FINDINGS_PER_REPORT, reports))
    report = np.repeat(np.arange(reports), lengths)
    place = np.arange(len(report)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    pool = statements(size)
    drawn = (len(pool["ent"]) * dice.random(len(report)) ** 1.5).astype(np.int64)
    codes = {name: values[drawn] for name, values in pool.items()}
    studies = [f"s{first + number:08d}" for number in range(reports)]
    own = texts(studies, report)
    ids = [f"{study}:{row}" for study, row in zip(own, place.tolist(), strict=True)]
    subjects = [f"p{(first + number) // 3:08d}" for number in range(reports)]
    views = texts(VIEWS, dice.integers(0, len(VIEWS), reports))
    where = [" ".join((side, zone)).strip() for side in SIDES for zone in ZONES]
    at = codes["side"] * len(ZONES) + codes["zone"]
    parts = [list(vocabulary.location_parts(location)) for location in where]
    status = texts(("dp", "dn", "tp", "tn"), dice.choice(4, len(report), p=(0.55, 0.30, 0.12, 0.03)))
    target = (dice.random(len(report)) * np.repeat(lengths, lengths)).astype(np.int64).tolist()
    refers = (dice.random(len(report)) < 0.2).tolist()
    count = len(report)
    columns: dict[str, Any] = {
        "finding_id": ids, "subject_id": texts(subjects, report), "study_id": own, "sequence": [1] * count,
        "section": texts(("find", "impr"), (place * 3 > 2 * np.repeat(lengths, lengths)).astype(np.int64)),
        "sent_idx": (place // 2).tolist(), "sent": [""] * count, "ent_idx": place.tolist(),
        "ent": texts(SAID, codes["ent"]),
        "name": texts([vocabulary.finding(ent) for ent in SAID], codes["ent"]), "cat": ["PF"] * count,
        "status": status, "location": texts(where, at),
        "location_parts": [parts[number] for number in at.tolist()],
        **{name: texts(WORDS[name], codes[name]) if name in WORDS else [""] * count for name in ATTRIBUTES},
        "evidence": [
            [f"{study}:{other}"] if wanted else []
            for study, other, wanted in zip(own, target, refers, strict=True)
        ],
        "associate": [[] for _ in range(count)], "currency": ["current dx"] * count,
        "view_information": texts(views, report), "row": list(range(count)),
        "masked_sentence": [None] * count, "mask_state": ["not needed"] * count,
        "same_name_in_sentence": [False] * count,
    }  # fmt: skip
    tentative = [number for number, code in enumerate(status) if code[0] == "t"]
    p = np.round(dice.uniform(0.1, 0.9, len(tentative)), 3)
    reported = {
        "study_id": studies, "subject_id": subjects, "sequence": [1] * reports, "report": [""] * reports,
        "view_information": views, "view_source": ["metadata"] * reports, "rows_delivered": lengths.tolist(),
        "rows_rejected": [0] * reports,
    }  # fmt: skip
    return (
        FINDINGS.frame(columns),
        fitted([ids[number] for number in tentative], [own[number] for number in tentative], p),
        REPORTS.frame(reported),
    )


def fitted(ids: list[str], studies: list[str], p: NDArray[np.float64]) -> pd.DataFrame:
    """FITTED_PROBABILITIES of tentative findings."""
    same = {
        "phrases": [], "sentence_key": "", "same_name_in_sentence": False, "mu": 25.0, "sigma": 1.0,
        "rank": 10, "steps": 20, "answers": 20, "invalid_answers": 0, "stop": "stable rank",
        "p_source": "fitted", "ruler": "own", "ranking_version": "invented", "fit": "paper",
        "mu_centre": 25.0, "mu_sd": 1.0,
    }  # fmt: skip
    columns = {name: [value] * len(ids) for name, value in same.items()}
    beliefs = {"p": p.tolist(), "p_low": (p / 2).tolist(), "p_high": ((1 + p) / 2).tolist()}
    return FITTED_PROBABILITIES.frame({**columns, "finding_id": ids, "study_id": studies, **beliefs})


def phrase_codes(findings: pd.DataFrame) -> set[int]:
    """The distinct linearised phrases, as hashes: a million texts would be counted as memory of the
    method.
    """
    columns = zip(
        *(findings[name].tolist() for name in ("ent", "location", *CLINICAL_ATTRIBUTES)), strict=True
    )
    return {hash(linearise(ent, location, attributes)) for ent, location, *attributes in columns}


def work(
    tools: Tools,
    embedder: Embedder,
    frames: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
    measured: Measured,
) -> None:
    """One batch through all stages, measured and checked."""
    findings, probabilities, reports = frames
    merged = measured.timed(
        "deduplicate", lambda: deduplicate(findings, probabilities, embedder, tools.blacklist, tools.settings)
    )
    expansion = measured.timed("expand", lambda: expand(merged, tools.dictionary, tools.vocabulary))
    resolution = measured.timed("resolve", lambda: resolve(merged, expansion, tools.dictionary, "invented"))
    accounts = measured.timed(
        "accounts", lambda: account(reports, REJECTED.frame(), merged, expansion, resolution)
    )
    broken = measured.timed("guarantees", lambda: violations(resolution.rows, reports["study_id"]))
    measured.findings += len(findings)
    measured.rows_out += len(resolution.rows)
    measured.broken += len(broken) + int((~accounts["balanced"]).sum())


def measure(size: int, batch_size: int, encoder: str, part: int = 0, parts: int = 1) -> None:
    """Every `parts`-th batch of one size, from number `part` on; prints a line of the table."""
    vocabulary = Vocabulary.from_terms(TERMS.frame())
    tools = Tools(vocabulary, load_dictionary(None, vocabulary), load_blacklist(), ImplicitSettings())
    measured = Measured(size)
    with tempfile.TemporaryDirectory() as folder:
        for first in range(part * batch_size, size, parts * batch_size):
            frames = batch(size, first, min(batch_size, size - first), vocabulary)
            measured.phrases |= phrase_codes(frames[0])
            work(
                tools,
                TimedEmbedder(embedder_for(encoder, tools, frames[0], Path(folder)), measured),
                frames,
                measured,
            )
    report(measured, batch_size)


def embedder_for(encoder: str, tools: Tools, findings: pd.DataFrame, folder: Path) -> Embedder:
    """The encoder of a batch."""
    if encoder == "lexical":
        return LexicalEmbedder(tools.vocabulary)
    phrases = compared_phrases(findings, tools.blacklist, tools.settings)
    vectors = np.random.default_rng(0).standard_normal((len(phrases), 768), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    write_vectors(folder / "vectors.parquet", phrases, vectors, "random")
    return PrecomputedEmbedder(folder / "vectors.parquet")


def report(measured: Measured, batch_size: int) -> None:
    """One line of the table, in Markdown."""
    batches = -(-measured.reports // batch_size)
    share = len(measured.phrases) / measured.findings
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    wall, cpu = measured.method(measured.wall), measured.method(measured.cpu)
    stages = " | ".join(
        f"{measured.cpu[stage]:.2f}" for stage in ("encoder", *METHOD, "accounts", "guarantees")
    )
    print(
        f"| {measured.reports:,} | {batches} | {measured.findings:,} | {share:.0%} "
        f"| {measured.rows_out:,} | {wall:.2f} | {cpu:.2f} | {stages} | {peak:.1f} "
        "|" + (f" {measured.broken} BROKEN" if measured.broken else ""),
        flush=True,
    )
    if share < 0.3:
        raise SystemExit(
            "Fewer than three tenths of the phrases are distinct: this is not the work that was to be timed."
        )


def main() -> None:
    """One process per size, so that each has its own peak of memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--batch", type=int, default=25_000, help="reports per batch")
    parser.add_argument("--encoder", choices=("lexical", "precomputed"), default="lexical")
    parser.add_argument(
        "--processes", type=int, default=1, help="processes among which the batches are shared out"
    )
    options = parser.parse_args()
    print(
        "| reports | batches | findings | distinct phrases | rows out | wall s | CPU s | of it encoder | "
        "deduplicate | match and expand | resolve ",
        end="",
    )
    print("| accounts | guarantees | peak GB |\n|" + "---|" * 14)
    context = multiprocessing.get_context("spawn")
    for size in options.reports:
        begun = time.perf_counter()
        parts = [
            context.Process(
                target=measure, args=(size, options.batch, options.encoder, part, options.processes)
            )
            for part in range(options.processes)
        ]
        for process in parts:
            process.start()
        for process in parts:
            process.join()
        if any(process.exitcode for process in parts):
            raise SystemExit(1)
        if options.processes > 1:
            print(
                f"{size:,} reports in {options.processes} processes, a line each: "
                f"{time.perf_counter() - begun:.0f} s with the making of inputs"
            )


if __name__ == "__main__":
    main()
