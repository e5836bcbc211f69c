"""No word of a raw report leaves the places where report text belongs: not when all
goes well, not from a model that says what is not there, not when a step bursts, not
from the landing folder. `planted` says where text belongs, and searches.
"""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import pandas as pd
import planted
import pytest
from asked_reports import judges_file, model_like
from loopback import LoopbackServer
from planted import PLANTED, WORD
from stored_tables import stored_table

pytestmark = pytest.mark.lengthy

SPOKEN = {
    "s1": f"FINDINGS: A possible nodule {PLANTED}. No effusion.\nIMPRESSION: Opacity {PLANTED}.",
    "s2": f"INDICATION: Fall {PLANTED}.\nFINDINGS: The opacity at the left base may be pneumonia.",
    "s3": f"<html><p>FINDINGS: Effusion {PLANTED}, likely small.</p></html>",
    "s4": f"FINAL REPORT\nFINDINGS: Clear {PLANTED}.\n\nFINAL REPORT\nFINDINGS: Opacity {PLANTED}.",
    "s5": f"Der Befund ist {PLANTED} nicht verändert. Kein Erguss und kein Pneumothorax.",
    "s6": "",
}
REPEATED = f"FINDINGS: Another text {PLANTED}."
STRUCTURING = "lunguage_assets.structuring.rules.structurer.mark_assertions"
GREAT_EXPECTATIONS = "lunguage_assets.orchestration.checks.examined"
"""Left out: it takes seconds to import, `judges/test_secrecy.py` has it."""


def write_reports(folder: Path) -> Path:
    """A delivery that declares nothing, so that it counts as patients'; one study comes
    twice.
    """
    folder.mkdir(parents=True)
    rows = [*SPOKEN.items(), ("s1", REPEATED)]
    frame = pd.DataFrame(rows, columns=["study_id", "report"])
    frame.to_csv(folder / "reports.csv", index=False)
    return folder


def shown(
    home: Path, message: str, status: int, *arguments: str | Path, crash: str = ""
) -> bytes:
    """Run a command, which says the message and nothing of the words, nor leaves them
    where they do not belong.
    """
    if not home.exists():
        planted.write_home(home)
    variables = {"LUNGUAGE_LANDING": str(home.parent / "landing")}
    if (home.parent / "judges.yaml").exists():
        variables["LUNGUAGE_JUDGES"] = str(home.parent / "judges.yaml")
    with mock.patch(GREAT_EXPECTATIONS, return_value=[]):
        ended, output = planted.shown_by(home, *arguments, crash=crash, **variables)
    assert message.encode() in output, output[-3000:]
    assert ended == status
    assert not planted.has_words(output)
    assert planted.traces(home) == []
    return output


def test_what_a_model_reads_is_in_tables_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    data = write_reports(tmp_path / "archive")
    with LoopbackServer(answer=model_like) as server:
        allowed = {"allowed_data": ["credentialed"]}
        judges = judges_file("openai-compatible", server.url, **allowed)
        (tmp_path / "judges.yaml").write_text(json.dumps(judges))
        run = ("run", "--data", data, "--batch", "b", "--structurer", "one")
        shown(home, "rows accounted for", 0, *run)
        assert any(WORD in call.user for call in server.calls)

    def stored(name: str) -> pd.DataFrame:
        return stored_table(home / "tables", name, structurer="one", report_batch="b")

    for name in ("report_texts", "structured_findings"):
        assert WORD in stored(name).to_csv()
    notes = stored("intake_notes")
    assert len(notes)
    refused = stored("refused_values").drop(columns="value", errors="ignore")
    assert WORD not in notes.to_csv() + refused.to_csv()
    for path in (home / "release").rglob("open/**/*"):
        assert not path.is_file() or not planted.has_words(path.read_bytes()), path


def test_a_step_or_a_reading_that_bursts_tells_no_words(tmp_path: Path) -> None:
    data = write_reports(tmp_path / "archive")
    (tmp_path / "one.txt").write_text(REPEATED, encoding="utf-8")
    for arguments in (("run", "--data", data), ("read", tmp_path / "one.txt")):
        message = "unexpected ValueError in "
        shown(tmp_path / "home", message, 1, *arguments, crash=STRUCTURING)


def test_a_landed_delivery_is_registered_or_refused_without_its_words(
    tmp_path: Path,
) -> None:
    write_reports(tmp_path / "landing" / "night")
    other = tmp_path / "landing" / "other.csv"
    other.write_text(f'"{REPEATED}",x\n1,2\n', encoding="utf-8")
    shown(tmp_path / "home", "quarantined", 1, "land", "--now")
    (reason,) = (tmp_path / "landing").rglob("REASON.txt")
    assert not planted.has_words(reason.read_bytes())
