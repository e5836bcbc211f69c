"""Reports a second of the offline structurer on one core: `python benchmarks/structuring.py [--reports 20000]
[--seed 0]`.

Takes invented raw reports in varied prose. Prints reports a second of cutting into sections and sentences, of
the rules with the memory of sentences and without it, and of the rows that follow; sentences of invented
reports repeat less or more than those of an archive, so the two figures of the rules are the bounds. Seconds
are of the processor.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pandas as pd

from lunguage_assets.collector import collect_seldom
from lunguage_assets.sample import write_raw_sample
from lunguage_assets.structuring.rows import StructuredRows
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.structuring.text.read import sectioned

T = TypeVar("T")


def invented(reports: int, seed: int) -> dict[str, str]:
    """Texts by study id."""
    with tempfile.TemporaryDirectory() as folder:
        write_raw_sample(Path(folder) / "raw", Path(folder) / "truth", reports, seed)
        frame = pd.read_csv(Path(folder) / "raw" / "reports.csv", dtype=str, keep_default_na=False)
    return dict(zip(frame["study_id"], frame["report"], strict=True))


def timed(what: str, reports: int, work: Callable[[], T]) -> T:
    started = time.process_time()
    made = work()
    seconds = time.process_time() - started
    print(f"{what:<42}{reports / seconds:>10,.0f} reports/s{1000 * seconds / reports:>10.2f} ms each")
    return made


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--reports", type=int, default=20_000)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    texts = invented(chosen.reports, chosen.seed)
    size = len(texts)
    collect_seldom()
    started = time.process_time()
    reports = timed(
        "sections and sentences", size, lambda: [sectioned(study, text) for study, text in texts.items()]
    )
    structurer = RuleStructurer()
    structurer.structure(reports[:10])  # what is read and compiled once
    answers = timed("rules, sentences remembered", size, lambda: structurer.structure(reports))
    rows = StructuredRows()
    timed("rows, values compared with the text", size, lambda: rows.add(reports, answers))
    tables = timed("tables of the rows", size, rows.tables)
    seconds = time.process_time() - started
    print(f"{'all of it':<42}{size / seconds:>10,.0f} reports/s{1000 * seconds / size:>10.2f} ms each\n")
    few = reports[: max(1, size // 10)]
    timed(
        "rules, nothing remembered",
        len(few),
        lambda: [
            structurer._read.__wrapped__(sentence.text, sentence.section)
            for report in few
            for sentence in report.sentences
        ],
    )
    sentences = [sentence.text for report in reports for sentence in report.sentences]
    print(
        f"\n{len(sentences) / size:.1f} sentences a report, {len(set(sentences)) / len(sentences):.1%} of "
        f"them distinct; {len(tables.structured_findings) / size:.1f} rows a report"
    )


if __name__ == "__main__":
    main()
