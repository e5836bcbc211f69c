"""A release as collections of data sets know them: Hugging Face's card, and Croissant.

All is derived from the schemas and from what the version holds; no time and no address.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from lunguage_assets.data_files import resource
from lunguage_assets.release.bundle.bundle_dictionary import RESTRICTED_TABLES
from lunguage_assets.release.bundle.provenance import Origin
from lunguage_assets.tables.schema import Column, Table

PAPER = "https://arxiv.org/abs/2511.04506"
_CONFIGURATIONS: Mapping[str, str] = {
    "findings": "Lunguage_plus_plus.parquet",
    "labels": "labels.parquet",
    "studies": "studies.parquet",
}
"""Name of a record set -> its file in the restricted part, all of one format, since Hugging Face's loader
takes one for all.
"""

_TYPES = {
    "string": "sc:Text",
    "strings": "sc:Text",
    "int": "sc:Integer",
    "float": "sc:Float",
    "bool": "sc:Boolean",
}


def card_header(origin: Origin) -> str:
    """The YAML block with which Hugging Face's cards begin: `datasets.load_dataset(FOLDER)` reads it."""
    licence = (
        {"license": "mit"}
        if origin.is_synthetic
        else {"license": "other", "license_name": "agreement-of-the-corpus", "license_link": "LICENSE"}
    )
    values = {
        "pretty_name": f"Lunguage++ of {origin.corpus.name}",
        **licence,
        "language": ["en"],
        "task_categories": ["text-classification", "tabular-classification"],
        "tags": ["radiology", "chest x-ray", "clinical uncertainty", "medical", "croissant"],
        "configs": [
            {"config_name": name, "data_files": f"restricted/{file}"}
            | ({"default": True} if name == "findings" else {})
            for name, file in _CONFIGURATIONS.items()
        ],
    }
    return f"---\n{yaml.safe_dump(values, sort_keys=False, allow_unicode=True)}---\n\n"


def croissant(origin: Origin, version: str, software: str, digests: Mapping[str, str]) -> str:
    """The version in MLCommons' Croissant 1.0, as JSON-LD.

    Args:
        origin: what the release was made with.
        version: its name.
        software: name and version of what made it.
        digests: SHA-256 of the version's files by path.
    """
    paths = {name: f"restricted/{file}" for name, file in _CONFIGURATIONS.items()}
    values = {
        "@context": json.loads(resource("release", "croissant_context.json").read_text(encoding="utf-8")),
        "@type": "sc:Dataset",
        "name": f"lunguage-plus-plus-{origin.corpus.name}",
        "description": "Findings of radiology reports with a probability each, the sub-findings that stated "
        "diagnoses imply, and labels of studies. Unmentioned is not absent.",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": "https://opensource.org/license/mit" if origin.is_synthetic else "LICENSE",
        "url": PAPER,
        "version": f"{version.removeprefix('v')}.0.0",
        "creator": {"@type": "sc:Organization", "name": software},
        "citeAs": f"Lunguage++ of {origin.corpus.name}, version {version}, {software}; {PAPER}",
        "distribution": [_file(path, digests[path]) for path in paths.values()],
        "recordSet": [
            _records(name, path, RESTRICTED_TABLES[_CONFIGURATIONS[name]]) for name, path in paths.items()
        ],
    }
    return json.dumps(values, indent=1, ensure_ascii=False) + "\n"


def _file(path: str, digest: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        **dict.fromkeys(("@id", "name", "contentUrl"), path),
        "encodingFormat": "application/x-parquet",
        "sha256": digest,
    }


def _records(name: str, path: str, table: Table) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": table.description,
        "key": [{"@id": f"{name}/{key}"} for key in table.key],
        "field": [_field(name, path, column) for column in table.columns],
    }


def _field(name: str, path: str, column: Column) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{name}/{column.name}",
        "name": column.name,
        "description": column.description,
        "dataType": _TYPES[column.type],
        **({"repeated": True} if column.type == "strings" else {}),
        "source": {"fileObject": {"@id": path}, "extract": {"column": column.name}},
    }
