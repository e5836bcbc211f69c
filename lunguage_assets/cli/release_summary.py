"""What is printed of a release and of the run that wrote it.

The numbers are those of `restricted/summary.json` of the release; here they get words.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lunguage_assets.cli.console import LabelledLine, print_pairs
from lunguage_assets.files import read_record
from lunguage_assets.judges.asking.progress import Progress
from lunguage_assets.workspace.versions import current_version, report_of

if TYPE_CHECKING:
    from lunguage_assets.orchestration.run import RunSummary
    from lunguage_assets.workspace.home import Home

_CONFLICTS = {
    "polarity": "present and absent",
    "certainty_pos": "present with and without doubt",
    "certainty_neg": "absent with and without doubt",
    "duplicate_pos": "twice present with doubt",
    "duplicate_neg": "twice absent with doubt",
    "repeat_dp": "twice present",
    "repeat_dn": "twice absent",
    "stated_contradiction": "present and absent, at places that contain each other",
}
_SIDES = {
    "original-original": "both stated",
    "original-expansion": "one stated, one implied",
    "expansion-expansion": "both implied",
}
_P_OF_HEDGED = "mean {mean:.3f}, sd {sd:.3f}, {min:.3f} to {max:.3f}"
_ACCOUNTS = (
    "{rows_in} in = {originals_out} out + {merged} merged + {removed} removed + "
    "{excluded} excluded (history) + {rejected} rejected + {set_aside} set aside"
)


def print_release(
    folder: Path, home: Home, run_lines: Sequence[LabelledLine] = ()
) -> None:
    """Print what is in the newest release, and where everything is.

    Args:
        folder: of the ranker's releases.
        home: whose tables the release was made of.
        run_lines: what the run says of its checks and spending.
    """
    version = current_version(folder) or folder
    restricted = version / "restricted"
    summary = read_record(
        restricted / "summary.json",
        dict,
        "Restore the release from a backup, or write it to another folder (--out).",
    )
    locations = [
        ("Lunguage++", str(restricted / "Lunguage_plus_plus.csv")),
        ("labels of each study", str(restricted / "labels.csv")),
        ("report, opens offline", str(report_of(version))),
        ("all files of the release", str(version)),
        ("tables, for any DuckDB client", str(home.database)),
        ("runs, tables, checks in the UI", f"{sys.argv[0]} ui --home {home.root}"),
    ]
    print_pairs([*summary_lines(summary), *run_lines, ("", ""), *locations])
    not_english = summary.get("not_in_english")
    if not_english:
        # Said once more, to stderr: these reports have no labels.
        click.echo(
            f"{not_english} reports are not in English: the offline rules read nothing "
            "in them. A language model as structurer reads them (--structurer).",
            err=True,
        )


def checks_lines(summary: RunSummary) -> list[LabelledLine]:
    """Say how many checks passed, and what those that only warn say."""
    # A failed check is no line here: it ends the command, and says so last.
    passed = f"{len(summary.checks('passed'))} of {len(summary.outcomes)}"
    warnings = [("  warns", warning) for warning in summary.checks("warned")]
    return [("checks passed", passed), *warnings]


def spending_lines(spent: Sequence[Progress], lost: int) -> list[LabelledLine]:
    """Say what language models were asked and cost; nothing where none was asked.

    Args:
        spent: the totals of each judge.
        lost: calls whose answer never came, since the ledger began.
    """
    if not spent:
        return []
    dollars = sum(judge.cost_usd for judge in spent)
    lines = [("language models", f"${dollars:.4f}")]
    lines += [("", judge.line()) for judge in spent]
    invalid = sum(judge.invalid for judge in spent)
    if invalid:
        calls = sum(judge.calls for judge in spent)
        lines.append(
            (
                "  paid, of no use",
                f"{invalid:,} of {calls:,} calls: their answers are invalid",
            )
        )
    if lost:
        lines.append(
            (
                "  sent, answer lost",
                f"{lost:,} since the ledger began, to killed processes",
            )
        )
    return lines


def summary_lines(summary: Mapping[str, Any]) -> list[LabelledLine]:
    """Word every line of a release's summary."""
    rows = summary["rows"]
    conflicts = summary["conflicts"]
    lines = [
        ("reports", f"{summary['reports']}"),
        ("findings", f"{summary['findings']} rows"),
        ("hedged findings", _hedged_findings(summary)),
    ]
    # Counted only in releases for which a distilled model scored findings.
    if summary.get("scored"):
        scored = f"{summary['scored']}: no judge was asked for them"
        lines.append(("  by a distilled model", scored))
    lines += [
        ("comparisons", f"{summary['matches']}"),
        ("phrases ranked", _ranked_phrases(summary)),
        ("p of hedged findings", _p_of_hedged(summary["p"])),
        ("expanded", _expanded(summary)),
        ("conflicts", str(sum(conflicts.values()))),
    ]
    lines += [
        (f"  {count}", describe_conflict(conflict))
        for conflict, count in conflicts.items()
    ]
    lines.append(("rows accounted for", _ACCOUNTS.format(**rows)))
    not_english = summary.get("not_in_english")
    if not_english:
        unread = f"{not_english} reports, not read and without labels"
        lines.append(("  not in English", unread))
    for rule, studies in summary["studies_set_aside"].items():
        lines.append(("  studies set aside", f"{studies} break the rule: {rule}"))
    # What a pathway implied and a contradiction discarded is no row of the release.
    generated_out = rows["generated"] - rows["discarded"]
    lines.append(
        (
            "rows out",
            f"{summary['rows_out']} = {rows['originals_out']} stated + "
            f"{generated_out} generated",
        )
    )
    if summary["batches_not_included"]:
        batches = ", ".join(summary["batches_not_included"])
        lines.append(("batches not included", batches))
    return lines


def _hedged_findings(summary: Mapping[str, Any]) -> str:
    """Count hedged findings by where their probability comes from."""
    counts = [f"{count} {source}" for source, count in summary["p_source"].items()]
    return f"{summary['tentative_pairs']} ({', '.join(counts) or 'none'})"


def _ranked_phrases(summary: Mapping[str, Any]) -> str:
    """Say whose phrases are the reference scale, and who ranked them."""
    scale = "this corpus' own phrases"
    if summary["ruler"] != "own":
        scale = f"the published phrases ({summary['ruler_reason']})"
    judges = ", ".join(summary["judges"]) or "none"
    return f"{summary['phrases_ranked']}, {scale}; judges: {judges}"


def _p_of_hedged(p: Mapping[str, float]) -> str:
    return _P_OF_HEDGED.format(**p) if p["count"] else "no fitted pair"


def _expanded(summary: Mapping[str, Any]) -> str:
    rows = summary["rows"]
    return (
        f"{summary['expanded']} stated diagnoses (and {summary['expanded_generated']} "
        f"implied ones) into {rows['generated']} sub-findings; "
        f"{rows['already_stated']} more were already stated"
    )


def describe_conflict(conflict: str) -> str:
    """Describe a kind of conflict such as `certainty_pos (original-expansion)`."""
    name, _, sides = conflict.partition(" (")
    return f"{_CONFLICTS[name]}: {_SIDES[sides.rstrip(')')]}"
