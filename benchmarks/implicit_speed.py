"""Time of the implicit half on invented reports: `python benchmarks/implicit_speed.py [reports] [rows per
report]`.

Random but realistic rows (diagnoses, signs, places, hedges, references; three tenths of the phrases distinct,
as in MIMIC-CXR); seeded, so that two runs time the same work. Prints seconds per stage, of them the
encoder's, and the peak memory of the process.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.encoders import LexicalEmbedder
from lunguage_assets.implicit.expansion.expand import expand
from lunguage_assets.implicit.merging.blacklist import load_blacklist
from lunguage_assets.implicit.merging.deduplicate import deduplicate
from lunguage_assets.implicit.pathways.pathways import load_dictionary
from lunguage_assets.implicit.resolution.accounting import account
from lunguage_assets.implicit.resolution.guarantees import violations
from lunguage_assets.implicit.resolution.resolve import resolve
from lunguage_assets.settings import ImplicitSettings
from lunguage_assets.tables import ATTRIBUTES, FINDINGS, FITTED_PROBABILITIES, REJECTED, REPORTS, TERMS

FINDINGS_SAID = (
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
PLACES = (
    "",
    "",
    "right lower lobe",
    "left lower lobe",
    "RUL",
    "left upper lobe",
    "bilateral",
    "right lung base",
    "costophrenic angle",
    "left, lower lung",
)
PHRASES_PER_ROW = (
    0.4  # distinct statements to draw from; about three in ten rows then say something for the first time
)
WORDS: dict[str, tuple[str, ...]] = {
    "morphology": ("", "", "", "patchy", "hazy", "linear"),
    "distribution": ("", "", "", "diffuse", "focal"),
    "measurement": ("", "", "", "", "5 mm", "increased"),
    "severity": ("", "", "mild", "moderate", "severe"),
    "no_change": ("", "", "", "stable", "unchanged"),
}


def invented(reports: int, rows: int, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """FINDINGS, FITTED_PROBABILITIES and REPORTS of that many studies with that many rows each."""
    dice, vocabulary = random.Random(seed), Vocabulary.from_terms(TERMS.frame())
    findings, fitted, studies = [], [], []
    statements = max(1, int(PHRASES_PER_ROW * reports * rows))
    pool = [
        (
            dice.choice(FINDINGS_SAID),
            dice.choice(PLACES),
            {name: dice.choice(WORDS.get(name, ("",))) for name in ATTRIBUTES},
        )
        for _ in range(statements)
    ]
    for number in range(reports):
        study, views = f"s{number:08d}", dice.choice(("ap", "pa, lateral", "ap, supine", ""))
        for row in range(rows):
            ent, location, attributes = pool[int(statements * dice.random() ** 1.5)]
            status = dice.choices(("dp", "dn", "tp", "tn"), (55, 30, 12, 3))[0]
            identity = f"{study}:{row}"
            section = "impr" if row > 2 * rows / 3 else "find"
            evidence = [f"{study}:{dice.randrange(rows)}"] if dice.random() < 0.2 else []
            findings.append(
                {
                    "finding_id": identity,
                    "subject_id": f"p{number % 997:08d}",
                    "study_id": study,
                    "sequence": 1,
                    "section": section,
                    "sent_idx": row // 2,
                    "sent": "",
                }
                | {
                    "ent_idx": row,
                    "ent": ent,
                    "name": vocabulary.finding(ent),
                    "cat": "PF",
                    "status": status,
                    "location": location,
                }
                | {
                    "location_parts": list(vocabulary.location_parts(location)),
                    **attributes,
                    "evidence": evidence,
                    "associate": [],
                }
                | {
                    "currency": "current dx",
                    "view_information": views,
                    "row": row,
                    "masked_sentence": None,
                    "mask_state": "not needed",
                }
                | {"same_name_in_sentence": False}
            )
            if status[0] == "t":
                p = round(dice.uniform(0.1, 0.9), 3)
                fitted.append(_fitted(identity, study, p))
        studies.append(
            {
                "study_id": study,
                "subject_id": f"p{number % 997:08d}",
                "sequence": 1,
                "report": "",
                "view_information": views,
                "view_source": "metadata",
            }
            | {"rows_delivered": rows, "rows_rejected": 0}
        )
    return FINDINGS.frame(findings), FITTED_PROBABILITIES.frame(fitted), REPORTS.frame(studies)


def _fitted(identity: str, study: str, p: float) -> dict[str, Any]:
    return {
        "finding_id": identity, "study_id": study, "phrases": [], "sentence_key": "",
        "same_name_in_sentence": False, "mu": 25.0, "sigma": 1.0, "rank": 10, "steps": 20, "answers": 20,
        "invalid_answers": 0, "stop": "stable rank", "p": p, "p_low": p / 2, "p_high": (1 + p) / 2,
        "p_source": "fitted", "ruler": "own", "ranking_version": "invented", "fit": "paper",
        "mu_centre": 25.0, "mu_sd": 1.0,
    }  # fmt: skip


class TimedEmbedder:
    """The encoder, with the time that it takes."""

    def __init__(self, inner: LexicalEmbedder) -> None:
        self._inner, self.identity = inner, inner.identity
        self.seconds, self.phrases = 0.0, 0

    def cosines(
        self, phrases: Sequence[str], first: Sequence[int], second: Sequence[int]
    ) -> NDArray[np.float64]:
        """As the encoder does, timed."""
        start = time.perf_counter()
        answer = self._inner.cosines(phrases, first, second)
        self.seconds += time.perf_counter() - start
        self.phrases += len(phrases)
        return answer


def main() -> None:
    """Time every stage once."""
    reports = int(sys.argv[1]) if len(sys.argv) > 1 else 1473
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    findings, fitted, studies = invented(reports, rows)
    vocabulary, settings = Vocabulary.from_terms(TERMS.frame()), ImplicitSettings()
    dictionary, blacklist = load_dictionary(None, vocabulary), load_blacklist()
    spent: dict[str, float] = {}

    def timed(stage: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = work()
        spent[stage] = time.perf_counter() - start
        return result

    clock = TimedEmbedder(LexicalEmbedder(vocabulary))
    deduplicated = timed("deduplicate", lambda: deduplicate(findings, fitted, clock, blacklist, settings))
    expansion = timed("expand", lambda: expand(deduplicated, dictionary, vocabulary))
    resolution = timed("resolve", lambda: resolve(deduplicated, expansion, dictionary, "invented"))
    broken = timed("guarantees", lambda: violations(resolution.rows, studies["study_id"]))
    accounts = timed(
        "accounting", lambda: account(studies, REJECTED.frame(), deduplicated, expansion, resolution)
    )
    print(
        f"{reports} reports, {len(findings)} rows in, {len(expansion.expansions)} implied, "
        f"{len(resolution.rows)} rows out"
    )
    print(
        f"{len(broken)} broken guarantees, {int((~accounts['balanced']).sum())} unbalanced studies, "
        f"{len(resolution.conflicts)} conflicts"
    )
    for stage, seconds in spent.items():
        print(f"{stage:12} {seconds:7.2f} s")
    method = sum(spent[stage] for stage in ("deduplicate", "expand", "resolve"))
    print(f"{'encoder':12} {clock.seconds:7.2f} s of deduplicate, for {clock.phrases} distinct phrases")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{'method':12} {method - clock.seconds:7.2f} s without the "
        f"encoder, {method:.2f} s with it, peak memory {peak:.0f} MB"
    )


if __name__ == "__main__":
    main()
