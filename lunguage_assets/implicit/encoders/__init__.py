"""Sentence encoders, which measure the similarity of two phrases (implicit.md section 2).

What an encoder is: `contract.py`. Which there are: `lexical.py` (no model), `sentence.py` (a model in this
process), `vectors.py` (vectors from a file). `making.py` chooses the configured one; there is no falling
back to another. Which findings may merge is not decided here.
"""

from lunguage_assets.implicit.encoders.contract import DECIMALS, Embedder, PairEmbedder, pair_cosines
from lunguage_assets.implicit.encoders.lexical import LexicalEmbedder
from lunguage_assets.implicit.encoders.making import encoder_identity, encoding_counts, make_embedder

__all__ = [
    "DECIMALS",
    "Embedder",
    "LexicalEmbedder",
    "PairEmbedder",
    "encoder_identity",
    "encoding_counts",
    "make_embedder",
    "pair_cosines",
]
