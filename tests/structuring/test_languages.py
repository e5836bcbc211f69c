"""A report in another language is not read by rules that know English; no English
report is taken for one.
"""

from __future__ import annotations

from itertools import compress
from pathlib import Path

import pandas as pd
import pytest
from commands import lunguage

import lunguage_assets

FOREIGN = [
    "Kein Pneumothorax.",
    "KEIN PNEUMOTHORAX.",
    "BEFUND: Lungen frei, Herz nicht vergroessert.\nBEURTEILUNG: Unauffälliger Befund.",
    "Pneumothorax ausgeschlossen.",
    "Pas de pneumothorax.",
    "Pneumothorax ausente.",
    "Niente pneumothorax.",
    "Brak pneumothorax.",
    "Pas d'épanchement pleural. Coeur de taille normale.",
    "No hay neumotórax.",
    "Cardiomegalia.",
    "Sem derrame pleural.",
    "Nessun versamento pleurico.",
    "Geen pneumothorax. Hart niet vergroot.",
    "Ingen pneumothorax.",
    "Bez cech pneumothorax.",
    "Плевральный выпот не определяется.",
    "胸水なし。",
]
ENGLISH = [
    "Lungs clear. Heart normal.",
    "NAD",
    "No PTX",
    "Cardiomegaly.",
    "Bibasilar atelectasis vs infiltrate",
    "R/o pneumonia. S/p CABG, BMT w/u.",
    "XXXX XXXX normal. ___ year old.",
    "De novo nodule. Known Sjögren syndrome.",
    "Right pleural effusion. Dr. de la Cruz was notified.",
    "Discussed with Dr. José Núñez at the San Juan hospital.",
    "",
]


def noted_as_foreign(texts: list[str]) -> list[bool]:
    """Whether each report is noted as one in another language, and nothing is read."""
    annotation = lunguage_assets.annotate(texts)
    is_noted = annotation.reports["notes"].astype(str).str.contains("not-english")
    foreign = set(annotation.reports["study_id"][is_noted])
    is_unread = annotation.sentences["reason"] == "other language"
    assert set(annotation.sentences["study_id"][is_unread]) == foreign
    assert foreign.isdisjoint(annotation.findings["study_id"])
    assert foreign.isdisjoint(annotation.labels["study_id"])
    return is_noted.tolist()


def test_reports_in_another_language_are_told_from_english_ones() -> None:
    texts = [*FOREIGN, *ENGLISH]
    noted = compress(texts, noted_as_foreign(texts))
    assert list(noted) == FOREIGN


def test_of_a_mixed_report_the_english_sentences_are_read() -> None:
    annotation = lunguage_assets.read(
        "FINDINGS: Kein Pneumothorax. There is a small left effusion. Herz normal."
    )
    assert annotation.findings["name"].tolist() == ["pleural effusion"]
    assert annotation.sentences["reason"].tolist().count("other language") == 2


def test_annotating_a_table_says_how_many_reports_are_not_in_english(
    tmp_path: Path,
) -> None:
    reports = tmp_path / "reports.csv"
    reports.write_text("study_id,report\na,Kein Pneumothorax.\nb,No pneumothorax.\n")
    done = lunguage(tmp_path, "annotate", reports)
    assert done.stderr.startswith("1 reports are not in English")
    assert "\na," not in done.stdout


@pytest.mark.lengthy  # a whole run
def test_a_run_rejects_what_it_cannot_read_and_says_so(tmp_path: Path) -> None:
    reports = "s50000001,Kein Pneumothorax.\ns50000002,Possible pneumonia.\n"
    data = tmp_path / "data"
    data.mkdir()
    (data / "reports.csv").write_text(f"study_id,report\n{reports}")
    (data / "corpus.toml").write_text('name = "invented"\ndata_class = "synthetic"\n')
    done = lunguage(tmp_path / "home", "run", "--data", data, "--batch", "mixed")
    assert done.returncode == 0, done.stderr
    assert "not in English" in done.stdout
    assert "Every report is in English, because" in done.stdout, "a check warns"
    release = tmp_path / "home" / "release" / "panel" / "v1" / "restricted"
    assert set(pd.read_csv(release / "labels.csv")["study_id"]) == {"s50000002"}
    assert pd.read_csv(release / "rejected.csv")["reason"].tolist() == [
        "report-other-language"
    ]
