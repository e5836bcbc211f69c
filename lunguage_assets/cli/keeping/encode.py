"""`lunguage encode`: the phrases that need a vector, and their vectors, for the encoder `precomputed`.

The two steps may run on two machines: only the second needs a model, and a GPU if there is one; only the
first needs the home.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from lunguage_assets.cli.options import FILE, Chosen, chooses, number


@click.group(short_help="Make vectors of phrases on another machine.")
def encode() -> None:
    """Make vectors of phrases elsewhere, for encoder 'precomputed'."""


@encode.command("phrases", short_help="Write the phrases that need a vector.")
@chooses(there=True)
@click.option("--out", required=True, type=FILE, help="Parquet file to write, with the column 'phrase'.")
@click.option(
    "--all", "everything", is_flag=True, help="Also phrases that the configured vectors already cover."
)
def phrases_of_home(chosen: Chosen, out: Path, everything: bool) -> None:
    """Write the distinct phrases of all batches that are compared with another and have no vector yet.

    They are words of the reports, without identifiers: treat the file as you treat the reports. It is
    readable by you only.
    """
    place = chosen.home
    from lunguage_assets.errors import ConfigurationError
    from lunguage_assets.home.store import partition_path, read_table
    from lunguage_assets.implicit.encoders.precomputed import PrecomputedEmbedder, write_phrases
    from lunguage_assets.implicit.merging.blacklist import load_blacklist
    from lunguage_assets.implicit.merging.deduplicate import compared_phrases
    from lunguage_assets.tables import FINDINGS

    settings, blacklist = chosen.settings.implicit, load_blacklist(place.blacklist_file)
    files = [partition_path(place.tables, FINDINGS.name, batch.key) for batch in place.registered()]
    read = [path for path in files if path.exists()]
    if not read:
        raise ConfigurationError(
            f"{place.root} has no findings yet. Run `lunguage run` first; it stops where it needs "
            "the vectors."
        )
    wanted = {
        phrase
        for path in read
        for phrase in compared_phrases(read_table(FINDINGS, path), blacklist, settings)
    }
    vectors = place.root / Path(settings.encoder_vectors).expanduser()
    if settings.encoder_vectors and vectors.exists() and not everything:
        wanted -= PrecomputedEmbedder(vectors).known()
    write_phrases(out, sorted(wanted))
    click.echo(
        f"{len(wanted)} phrases of {len(read)} batches in {out}, words of reports, readable by "
        "you only (mode 0600)"
    )


@encode.command("vectors", short_help="Encode a file of phrases with a model on this machine.")
@click.argument("phrases", type=FILE)
@click.option(
    "--out", required=True, type=FILE, help="Parquet file to write, with the columns 'phrase' and 'vector'."
)
@click.option(
    "--model", default="FremyCompany/BioLORD-2023", show_default=True, help="Name on the hub, or a folder."
)
@click.option(
    "--revision", default="", help="Commit, tag or branch; default: for BioLORD-2023 a pinned commit."
)
@click.option("--device", default="auto", show_default=True, help="'cpu', 'cuda', 'cuda:1'...")
@number("--batch-size", 64)
def vectors_of_phrases(
    phrases: Path, out: Path, model: str, revision: str, device: str, batch_size: int
) -> None:
    """Encode a file of phrases with a sentence encoder on this machine (extra "models").

    Run it again after a crash, and it goes on: what is done is kept beside OUT until all is done.
    """
    from lunguage_assets.implicit.encoders.cached import CachedEmbedder
    from lunguage_assets.implicit.encoders.model_folder import find_model
    from lunguage_assets.implicit.encoders.precomputed import read_phrases, write_vectors
    from lunguage_assets.implicit.encoders.sentence import SentenceEmbedder

    said = read_phrases(phrases)
    encoder = SentenceEmbedder(find_model(model, revision), device, batch_size)
    unfinished = out.with_name(f".{out.name}.unfinished")
    write_vectors(out, said, CachedEmbedder(encoder, unfinished).encode(said), encoder.identity)
    shutil.rmtree(unfinished, ignore_errors=True)
    click.echo(
        f"{len(said)} vectors of {encoder.identity} in {out}; name it as implicit.encoder_vectors "
        "in settings.toml of the home"
    )
