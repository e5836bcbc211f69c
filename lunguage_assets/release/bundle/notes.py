"""What a version of a release says of itself in words: README, and what each part may be used for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lunguage_assets.explicit.rating.trueskill import BETA
from lunguage_assets.release.bundle.cards import card_header
from lunguage_assets.release.bundle.disclosure import Disclosure
from lunguage_assets.release.bundle.material import Material
from lunguage_assets.release.bundle.provenance import Origin

_README = """# Lunguage++ of {corpus}, {version}

Findings of radiology reports with a probability each, the sub-findings that stated diagnoses imply, contradictions resolved. Made with {software} from
{batches}; ranker `{ranker}`: {judges}. The method is that of "Modeling Clinical Uncertainty in Radiology Reports: from Explicit Uncertainty
Markers to Implicit Reasoning Pathways" (arXiv 2511.04506).

## Before you use it

- **Unmentioned is not absent.** A finding, or a label, that a report says nothing about is not thereby absent.
- `prob` is the probability that the finding is present. **For generated rows it is a bound that follows from the pathway, not an estimate**
  (`prob_is_bound`, `p_is_bound`).
- Intervals cover the fit, the ranking's sampling and the anchors' ratings; not a bias that judges share, nor whether a report is right.
- Pathways speak in one direction, from a diagnosis to its signs, and were not checked against images.
{more}
## What is where

| | |
|---|---|
| `open/` | no row of any report: `report.html` (tables and figures, opens offline), `ranking.csv`, the paper's tables, pathways and blacklist, analyses, figures, `data_dictionary.md`, `provenance.json` |
| `restricted/` | rows of single studies: `Lunguage_plus_plus.csv` and `.parquet`, labels (also in the shape of MIMIC-CXR's CheXpert file), resolution log, conflicts, pathway matches, accounts, rejected rows, exact counts; `studies.csv` with identifiers as numbers |
| `LICENSE` | what may be done with these files |
| `croissant.json` | the tables and their columns in MLCommons' Croissant; this page is also a card that `datasets.load_dataset(FOLDER)` reads |
| `SHA256SUMS` | checksums of everything: `sha256sum -c SHA256SUMS`; each part has its own, so that it can be passed on alone |

What each part may be used for is in its `USE.md`. {counts} {against}

## How to cite

Cite the paper above, the corpus ({corpus}), and this version: "Lunguage++ of {corpus}, version {version}, {software}". The part in brackets
stands for the content: the same content has the same wherever it was made.
"""  # noqa: E501

_OPEN_SYNTHETIC = """# Use of the open part

The reports are invented, so nothing here is about a patient. It shows what the software makes, and no results.
"""  # noqa: E501

_OPEN_CREDENTIALED = """# Use of the open part

Aggregates of reports that are under a data use agreement: counts, rankings of hedging phrases, figures; no row, identifier or sentence of any report.
{rounding}

Whether aggregates may be published is for your agreement and your institution to say; for data from PhysioNet, publishing results is what the agreement
is for, re-identifying anybody is what it forbids. Look through it before you pass it on: names of batches, of the corpus and of judges are yours.
"""  # noqa: E501

_ROUNDED = """Counts of rows, studies and patients are rounded to multiples of {n}, and those from 1 to {last} say only `<{n}`; statistics of fewer than {n} findings and values of single ones are left
out; hedging phrases of fewer than {n} findings are not spelled out; no single finding is drawn. Exact counts are in the restricted part."""  # noqa: E501

_EXACT = (
    "**Counts are exact, small ones too** (`small_cells = 1` in settings.toml): a count of "
    "one is about one person."
)

_RESTRICTED_SYNTHETIC = """# Use of the restricted part

The reports are invented. With reports of patients this part would hold their text and rows of single studies, so it is kept apart here too.
"""  # noqa: E501

_RESTRICTED_CREDENTIALED = """# Use of the restricted part

**Rows of single studies derived from credentialed reports, with report text.** Treat every file here as the reports themselves, also those without sentences:
row-level data derived from them falls under the same agreement.

- Only for people who have signed the data use agreement of the corpus (for MIMIC-CXR and Lunguage the PhysioNet Credentialed Health Data Use Agreement).
- Do not pass it on, do not publish it, do not put it into a public or shared place, and send no text of it to a service that keeps what it is sent.
- A derived data set is shared through the repository of the corpus, under the same agreement.
"""  # noqa: E501


def readme(version: str, against: Mapping[str, Any] | None, material: Material) -> str:
    """`README.md` of a version: what it is, what to know before using it, what is where, how to cite it.

    Args:
        version: its name, and the beginning of what stands for its content.
        against: the version before and the rows that changed (`row_changes`); None for the first one.
        material: what it was made from.
    """
    origin, provenance, disclosure = material.origin, material.provenance, material.disclosure
    included = [key for key, batch in provenance["batches"].items() if batch["included"]]
    software = provenance["software"]
    more = (
        "- The reports are invented: use these files to learn the format, not for results.\n"
        if origin.is_synthetic
        else ""
    )
    if not any(isinstance(bound, Mapping) and "model" in bound for bound in provenance["judges"].values()):
        more += (
            "- The judges are rule-based, not language models: probabilities for research need "
            "language models as judges.\n"
        )
    more += _how_far_apart(material)
    if (structurer := provenance["structurer"]) is not None:
        more += (
            f"- Findings were read in raw reports by a program, not by people: structurer "
            f"`{structurer['key']}` ({structurer['identity']}). What it cannot read is not in the rows.\n"
        )
    return card_header(origin) + _README.format(
        corpus=origin.corpus.name,
        version=version,
        software=f"{software['name']} {software['version']}",
        batches=f"{len(included)} {'batch' if len(included) == 1 else 'batches'} "
        f"({', '.join(included) or 'none'})",
        ranker=provenance["ranker"],
        judges=", ".join(provenance["members"]) or "no judges",
        more=more,
        counts=_counts(origin, disclosure),
        against=_against(against, disclosure),
    )


def _how_far_apart(material: Material) -> str:
    """How far judges lie apart in reading a sentence, which makes the intervals of p wide or narrow."""
    apart = float(material.ranking["reading_sd"].iloc[0])
    measured = material.has_own_ruler and len(material.provenance["members"]) > 1
    told = "as measured in their comparisons" if measured else "an assumed value: nothing could be measured"
    most = ", the most that the method allows: they do not agree, and the intervals say so"
    return (
        f"- Intervals of p contain that judges place one sentence {apart:.1f} points of mu apart "
        f"({told}{most if apart >= BETA - 0.05 else ''}).\n"
    )


def _against(against: Mapping[str, Any] | None, disclosure: Disclosure) -> str:
    if against is None:
        return "This is the first version."
    if against["rows"] is None:
        return f"The rows of {against['version']} are no longer there, so they were not compared."
    told = ", ".join(f"{disclosure.shown(count)} {change}" for change, count in against["rows"].items())
    return f"Rows against {against['version']}: {told}. Compare the two `provenance.json` for the reason."


def _counts(origin: Origin, disclosure: Disclosure) -> str:
    if origin.is_synthetic:
        return "Counts are exact in both parts: the reports are invented."
    return (
        f"Counts of the open part are rounded to multiples of {disclosure.threshold}."
        if disclosure.withholds
        else "Counts are exact."
    )


def use_of_open(origin: Origin, disclosure: Disclosure) -> str:
    """`open/USE.md`."""
    if origin.is_synthetic:
        return _OPEN_SYNTHETIC
    n = disclosure.threshold
    return _OPEN_CREDENTIALED.format(
        rounding=_ROUNDED.format(n=n, last=n - 1) if disclosure.withholds else _EXACT
    )


def use_of_restricted(origin: Origin) -> str:
    """`restricted/USE.md`."""
    return _RESTRICTED_SYNTHETIC if origin.is_synthetic else _RESTRICTED_CREDENTIALED
