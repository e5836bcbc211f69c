"""A release as collections of data sets know them: Hugging Face's card, Croissant, PhysioNet's LICENSE and
RECORDS.

All is derived from the schemas and from what the version holds; no time and no address.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

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
takes one for all; the first is what is loaded without a name.
"""

_TYPES = {
    "string": "sc:Text",
    "strings": "sc:Text",
    "int": "sc:Integer",
    "float": "sc:Float",
    "bool": "sc:Boolean",
}
_CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_LICENSE_SYNTHETIC = """The reports are invented. The licence of the software holds for these files: MIT.
"""
_LICENSE_CREDENTIALED = """No licence is granted by these files.

`restricted/` is derived row by row from reports of patients and stays under the agreement of the corpus ({corpus}). For MIMIC-CXR and
Lunguage that is the PhysioNet Credentialed Health Data License and its data use agreement. Whoever passes a derived data set on does so through
the repository of the corpus, under the same agreement.

`open/` holds aggregates. Whether they may be published is for the agreement and the institution to say (`open/USE.md`).
"""  # noqa: E501


def license_text(origin: Origin) -> str:
    """`LICENSE` of a version."""
    if origin.is_synthetic:
        return _LICENSE_SYNTHETIC
    return _LICENSE_CREDENTIALED.format(corpus=origin.corpus.name)


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
            | ({"default": True} if not place else {})
            for place, (name, file) in enumerate(_CONFIGURATIONS.items())
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
    values = {
        "@context": _CONTEXT,
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
        "distribution": [_file(f"restricted/{file}", digests) for file in _CONFIGURATIONS.values()],
        "recordSet": [
            _records(name, f"restricted/{file}", RESTRICTED_TABLES[file])
            for name, file in _CONFIGURATIONS.items()
        ],
    }
    return json.dumps(values, indent=1, ensure_ascii=False) + "\n"


def _file(path: str, digests: Mapping[str, str]) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "encodingFormat": "application/x-parquet",
        "sha256": digests[path],
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
