"""The offline structurer on invented reports whose truth is known: python benchmarks/structuring_truth.py
[reports] [seed] [kinds].

Writes varied prose, structures its text, and prints F1 of findings with their status by section, of place and
attributes, and the commonest kinds of disagreement with an invented sentence of each. The structurer and the
writer of the prose share no words and no rules. Where a sentence gives a place to the sign alone ("right
basilar opacity, likely pneumonia"), a diagnosis with that place and one without are both right.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from lunguage_assets.sample import synthetic_studies
from lunguage_assets.structuring.rules.structurer import RuleStructurer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from held_against_truth import Score, compare


def main(reports: int = 2000, seed: int = 1, kinds: int = 40) -> None:
    structurer = RuleStructurer()
    begin = time.perf_counter()
    result = compare(synthetic_studies(reports, seed, "varied"), structurer)
    print(f"{reports:,} reports, seed {seed}: {time.perf_counter() - begin:.1f} s with writing them")
    _line("finding with status", result.finding)
    for section, score in sorted(result.findings.items()):
        _line(f"  {section}", score)
    _line("category", result.categories)
    _line("place", result.place)
    _line("attributes", result.attribute)
    for column, score in result.attributes.items():
        _line(f"  {column}", score)
    _line("sentences found", result.sentences)
    print("\ncommonest disagreements")
    for kind, count in result.kinds.most_common(kinds):
        print(f"{count:5}  {kind}")
        for sentence in result.shown[kind][:2]:
            print(f"         {sentence}")


def _line(what: str, score: Score) -> None:
    print(f"{what:24} F1 {score.f1:.3f}   right {score.right}, in vain {score.vain}, missed {score.missed}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:4]))
