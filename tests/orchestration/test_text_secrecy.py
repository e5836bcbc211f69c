"""No word of a raw report leaves the places where report text belongs: not when all
goes well, not from a model that says what is not there, not when a step bursts, not
from the landing folder. `planted` says where text belongs, and searches.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import planted
import planted_runs
import pytest
from asked_reports import model_like
from loopback import LoopbackServer
from planted import PLANTED

from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.store import partition_path, read_table

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
JUDGES = """
preset = "p"
[judges.lexicon]
provider = "lexicon"
[judges.cues]
provider = "cues"
[judges.one]
provider = "openai-compatible"
model = "tester-1"
base_url = "{url}/v1"
params = {{ max_tokens = 900 }}
allowed_data = ["credentialed"]
{limits}
[panels.both]
members = ["lexicon", "cues"]
[presets.p]
panel = "both"
extractor = "lexicon"
candidates = ["one"]
"""
CRASHES = {
    "reading": "lunguage_assets.orchestration.assets.corpus:read_reports",
    "structuring": "lunguage_assets.structuring.rules.structurer:mark_assertions",
}
GREAT_EXPECTATIONS = "lunguage_assets.orchestration.checks:examined"
"""Left out: it takes seconds to import, `judges/test_secrecy.py` has it."""


def write_reports(folder: Path) -> Path:
    """A delivery that declares nothing, so that it counts as patients'; one study comes
    twice.
    """
    folder.mkdir(parents=True)
    rows = [*SPOKEN.items(), ("s1", REPEATED)]
    lines = [f'{study},"{text}"' for study, text in rows]
    (folder / "reports.csv").write_text(
        "\n".join(["study_id,report", *lines]), encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the homes and what was shown: commands one after the other."""
    folder = tmp_path_factory.mktemp("raw")
    data = write_reports(folder / "archive")
    landing = folder / "landing"
    write_reports(landing / "night")
    (landing / "other.csv").write_text(f'"{REPEATED}",x\n1,2\n', encoding="utf-8")
    (folder / "one.txt").write_text(REPEATED, encoding="utf-8")
    (folder / "shown").mkdir()
    with LoopbackServer(answer=model_like) as server:
        (folder / "judges.toml").write_text(
            JUDGES.format(url=server.url, limits=planted.LIMITS)
        )

        def scenario(
            name: str, *arguments: str, home: str, **more: Any
        ) -> dict[str, Any]:
            root = folder / home
            if not root.exists():
                planted.write_home(root)
            environment = {
                "LUNGUAGE_HOME": str(root),
                "LUNGUAGE_JUDGES": str(folder / "judges.toml"),
                "LUNGUAGE_LANDING": str(landing),
            }
            plain = {"crash": [], "idle": [GREAT_EXPECTATIONS], "files": {}, "copy": []}
            return {
                "name": name,
                "arguments": arguments,
                "environment": environment,
                **plain,
                **more,
            }

        run = ("run", "--data", str(data), "--batch", "b")
        scenarios = [
            *(
                scenario(name, *run, home="burst", crash=[module])
                for name, module in CRASHES.items()
            ),
            scenario("model", *run, "--structurer", "one", home="well"),
            scenario("land", "land", "--now", home="landed"),
            scenario(
                "read",
                "read",
                str(folder / "one.txt"),
                home="well",
                crash=[CRASHES["structuring"]],
            ),
        ]
        for scenario_run in scenarios:
            planted_runs.run(scenario_run, folder / "shown")
        assert any(planted.WORD in call.user for call in server.calls), (
            "the model was to read the words"
        )
    return folder


def shown(runs: Path, name: str) -> bytes:
    return (runs / "shown" / f"{name}.out").read_bytes()


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("model", "0", "rows accounted for"),
        ("reading", "1", "unexpected ValueError in "),
        ("structuring", "1", "unexpected ValueError in "),
        ("land", "1", "quarantined"),
        ("read", "1", "unexpected ValueError in "),
    ],
)
def test_whatever_becomes_of_raw_reports_is_told_without_their_words(
    runs: Path, name: str, status: str, message: str
) -> None:
    assert message in shown(runs, name).decode(), shown(runs, name).decode()[-3000:]
    assert (runs / "shown" / f"{name}.status").read_text() == status
    assert planted.traces(runs / "nothing", shown(runs, name)) == []


def test_only_tables_have_the_words_of_reports(
    runs: Path,
) -> None:
    for home in ("well", "burst", "landed"):
        assert planted.traces(runs / home) == [], home
    tables = runs / "well" / "tables"
    for name, keys in (("report_texts", ["b"]), ("structured_findings", ["one", "b"])):
        frame = read_table(TABLES[name], partition_path(tables, name, *keys))
        assert planted.WORD in frame.to_csv(), name
    refused = read_table(
        TABLES["refused_values"], partition_path(tables, "refused_values", "one", "b")
    )
    notes = read_table(
        TABLES["intake_notes"], partition_path(tables, "intake_notes", "b")
    )
    assert len(notes)
    assert (
        planted.WORD
        not in notes.to_csv() + refused.drop(columns="value", errors="ignore").to_csv()
    )
    for path in (runs / "well" / "release").rglob("open/**/*"):
        assert not path.is_file() or planted.WORD.encode() not in path.read_bytes(), (
            path
        )


def test_a_quarantined_delivery_says_why_without_its_words(
    runs: Path,
) -> None:
    (reason,) = (runs / "landing").rglob("REASON.txt")
    assert planted.traces(runs / "nothing", reason.read_bytes()) == []
