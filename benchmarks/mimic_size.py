"""A corpus of MIMIC-CXR's size from text to release: `python benchmarks/mimic_size.py [--studies 227835]
[--batch 12000] [--processes 2] [--findings]`.

Puts the sentences of the invented reports into new company, or with `--findings` draws Lunguage files; the
clock leaves this out. Two sentences of five get a number of their own, so that they repeat about as often as
in an archive. Registers them as batches, and runs `lunguage run` with the offline judges in a process of its
own. Prints wall and processor time, the highest memory of all processes together, and the time of each stage.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
import time
from collections import defaultdict
from functools import cache
from pathlib import Path

import pandas as pd
import psutil

from lunguage_assets.home.home import Home
from lunguage_assets.orchestration.runs.instance import dagster_instance
from lunguage_assets.sample import ABOUT, ABOUT_FILE, FIRST, TABLE_FILE, sample_studies, write_sample

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from recombined import Pools, pools_of, recombined

MIMIC_CXR = 227_835
STUDIES_OF_A_PATIENT = 3
SENTENCES_WITH_A_NUMBER = 0.4
_END = re.compile(r"(?<=[a-z])\.(?=\s|$)")
_NUMBER = re.compile(r"(?<![0-9a-f])9[0-9]{7}(?![0-9a-f])")
LOOK_EVERY_S = 0.5


def deliver(folder: Path, number: int, reports: int, before: int, *, findings: bool) -> None:
    """An invented delivery whose studies and patients are no other delivery's."""
    if not findings:
        write_texts(folder, number, reports, before)
        return
    write_sample(folder, reports=reports, seed=number)
    for file in folder.iterdir():
        text = file.read_text(encoding="utf-8")
        file.write_text(_NUMBER.sub(lambda found: str(int(found[0]) + before), text), encoding="utf-8")


@cache
def pools() -> Pools:
    return pools_of(sample_studies(800, 0, "varied")["report"])


def write_texts(folder: Path, number: int, reports: int, before: int) -> None:
    """A table of raw reports, numbered from `before` on."""
    draw = random.Random(number)

    def numbered(end: re.Match[str]) -> str:
        return f" on image {draw.randrange(10**9)}." if draw.random() < SENTENCES_WITH_A_NUMBER else end[0]

    rows = []
    for study, text in enumerate(recombined(pools(), reports, number), start=FIRST + before):
        subject = FIRST + (study - FIRST) // STUDIES_OF_A_PATIENT
        rows.append(
            (f"s{study}", f"p{subject}", draw.choice(("AP", "PA, LATERAL")), _END.sub(numbered, text))
        )
    folder.mkdir(parents=True)
    pd.DataFrame(rows, columns=["study_id", "subject_id", "view", "report"]).to_csv(
        folder / TABLE_FILE, index=False
    )
    (folder / ABOUT_FILE).write_text(ABOUT, encoding="utf-8")


def memory(process: psutil.Process) -> int:
    """Bytes that a process and those that it started hold."""
    held = 0
    for one in (process, *process.children(recursive=True)):
        try:
            held += one.memory_info().rss
        except psutil.Error:
            continue
    return held


def run(command: list[str]) -> tuple[float, float, int]:
    """Wall and processor seconds of a command with all its processes, and their highest memory in bytes."""
    started, before = time.monotonic(), os.times()
    process = psutil.Popen(command)
    highest = 0
    while process.poll() is None:
        highest = max(highest, memory(process))
        time.sleep(LOOK_EVERY_S)
    if process.returncode:
        sys.exit(process.returncode)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - started, used, highest


def stages(home: Home) -> dict[str, list[float]]:
    """Seconds of every run, by job."""
    found: dict[str, list[float]] = defaultdict(list)
    with dagster_instance(home) as instance:
        for record in sorted(instance.get_run_records(), key=lambda record: record.start_time or 0.0):
            if record.start_time and record.end_time:
                found[record.dagster_run.job_name].append(record.end_time - record.start_time)
    return found


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--studies", type=int, default=MIMIC_CXR)
    options.add_argument("--batch", type=int, default=12_000, help="studies of a batch")
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--findings", action="store_true", help="deliver Lunguage files instead of text")
    options.add_argument("--home", type=Path, default=None, help="a new folder; default: a temporary one")
    chosen = options.parse_args()
    os.environ.pop("DAGSTER_HOME", None)
    with tempfile.TemporaryDirectory() as temporary:
        home = Home((chosen.home or Path(temporary) / "home").resolve())
        folders = []
        for number, before in enumerate(range(0, chosen.studies, chosen.batch)):
            folder = Path(temporary) / f"b{number:03}"
            deliver(
                folder, number, min(chosen.batch, chosen.studies - before), before, findings=chosen.findings
            )
            home.register(folder, folder.name)
            folders.append(folder)
        command = [sys.executable, "-m", "lunguage_assets.cli.main", "run", "--home", str(home.root)]
        command += ["--data", str(folders[-1]), "--batch", folders[-1].name]
        wall, used, highest = run([*command, "--processes", str(chosen.processes)])
        size = sum(file.stat().st_size for file in (home.root / "tables").rglob("*.parquet"))
        print(
            f"\n{chosen.studies} studies in {len(folders)} batches, {chosen.processes} processes: "
            f"{wall / 60:.1f} min, {used / 60:.1f} min of processor time, {highest / 2**30:.1f} GB at most, "
            f"tables {size / 2**30:.2f} GB"
        )
        print(f"{'job':<20}{'runs':>6}{'s in all':>10}{'s each':>8}")
        for job, seconds in stages(home).items():
            print(f"{job:<20}{len(seconds):>6}{sum(seconds):>10.0f}{sum(seconds) / len(seconds):>8.1f}")


if __name__ == "__main__":
    main()
