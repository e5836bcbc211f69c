"""What merging, expansion and resolution of a chunk of studies need, made in a process of its own
(`cores.by_studies`).
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.encoders import Embedder, make_embedder
from lunguage_assets.implicit.expansion.expand import Expansion
from lunguage_assets.implicit.merging.blacklist import Blacklist, load_blacklist
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary, load_dictionary
from lunguage_assets.implicit.resolution.resolve import Resolution, resolve
from lunguage_assets.settings import ImplicitSettings


def merging_tools(
    settings: ImplicitSettings, terms: pd.DataFrame, root: Path, file: Path | None
) -> tuple[Embedder, Blacklist, ImplicitSettings]:
    """What `deduplicate` needs beside its frames; `file`: the home's blacklist."""
    embedder = make_embedder(settings, Vocabulary.from_terms(terms), root)
    return embedder, load_blacklist(file), settings


def expansion_tools(file: Path | None, terms: pd.DataFrame) -> tuple[PathwayDictionary, Vocabulary]:
    """What `expand` needs beside its frame; `file`: the home's pathways."""
    vocabulary = Vocabulary.from_terms(terms)
    return load_dictionary(file, vocabulary), vocabulary


def resolution_tools(
    terms: pd.DataFrame, version: str, pathways: Path | None, blacklist: Path | None
) -> tuple[PathwayDictionary, str, Blacklist]:
    """What `resolve_chunk` needs beside its frames: files of the home, and the version of the ranking."""
    return load_dictionary(pathways, Vocabulary.from_terms(terms)), version, load_blacklist(blacklist)


def resolve_chunk(
    deduplicated: pd.DataFrame,
    matches: pd.DataFrame,
    expansions: pd.DataFrame,
    dictionary: PathwayDictionary,
    version: str,
    blacklist: Blacklist,
) -> Resolution:
    """`resolve` with the frames one by one."""
    expanded = Expansion(matches, expansions)
    return resolve(deduplicated, expanded, dictionary, ranking_version=version, blacklist=blacklist)
