"""A model distilled from a panel, as it scores: an encoder that reads a masked sentence, and a linear head on
what it says at the mask and on the mean. `explicit/distilled/` trains it.

Its folder holds `scorer.json`, `scorer.npz` and, where the encoder was fine-tuned, `encoder/`: learnt from
reports, and as restricted as they are. `scorer.json` names the digest of the weights, which is checked when
they are read. torch and transformers are imported when the first sentence is read.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import replace_file, replace_text
from lunguage_assets.hub import files_digest, found_model, quiet_transformers
from lunguage_assets.judges.protocol import MASK
from lunguage_assets.randomness import Floats

Vectors = NDArray[np.float32]

LONGEST = 256
"""Tokens of a sentence that are read."""
AT_ONCE = 20_000
"""Sentences whose vectors are held together."""
_DECIMALS = 4
"""mu and its deviation are rounded: no batch's last bit decides what is stored."""


def has_gpu() -> bool:
    """Whether torch is installed and sees a GPU."""
    if find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


class MaskedEncoder:
    """A model of transformers that reads masked sentences; only safetensors are loaded, no code of its own is
    run. `identity` is its name and exact revision.
    """

    def __init__(
        self, name: str, revision: str = "", device: str = "auto", batch_size: int = 64
    ) -> None:
        """Find it: a folder (`/...`, `./...`, `~/...`, `package:MODULE/PATH`), or a name on the hub. Raises
        `ConfigurationError` for a missing library or model.
        """
        if find_spec("transformers") is None or find_spec("torch") is None:
            raise ConfigurationError(
                "a distilled model needs transformers and torch, which are not installed. Run: pip install "
                "'lunguage-assets[models]'"
            )
        self.name, self.revision, self._device, self._batch = (
            name,
            revision,
            device,
            batch_size,
        )
        self.folder, self.identity, files = found_model(
            name, revision or "main", "distilled.encoder"
        )
        if all(one.suffix != ".safetensors" for one in files):
            raise ConfigurationError(
                f"distilled.encoder, folder {self.folder}: found no weights in safetensors (other formats "
                "can hold code), expected some. Save the model with transformers."
            )

    @cached_property
    def loaded(self) -> tuple[Any, Any, str]:
        """The model, its tokenizer, and the device that it is on."""
        import torch
        from transformers import AutoModel, AutoTokenizer

        quiet_transformers()
        device = (
            self._device
            if self._device != "auto"
            else "cuda"
            if torch.cuda.is_available()
            else "cpu"
        )
        try:
            tokenizer = AutoTokenizer.from_pretrained(
                self.folder, local_files_only=True
            )
            model = AutoModel.from_pretrained(
                self.folder,
                local_files_only=True,
                use_safetensors=True,
                dtype=torch.float32,
            )
            return model.to(device).eval(), tokenizer, device
        except (
            Exception
        ) as error:  # each library has its own errors; the text of some is a page long
            raise ConfigurationError(
                f"encoder {self.identity} cannot be loaded ({type(error).__name__}). Expected an encoder of "
                "transformers without code of its own: distilled.encoder, distilled.device."
            ) from None

    def batches(
        self, sentences: Sequence[str], at_once: int = 0
    ) -> Iterator[tuple[list[int], Any]]:
        """Sentences as tensors, those of like length together, with their numbers; `<finding>` is the
        tokenizer's mask, or its unknown word where it has no mask.
        """
        _, tokenizer, device = self.loaded
        mask = tokenizer.mask_token or tokenizer.unk_token
        order = sorted(
            range(len(sentences)),
            key=lambda number: (len(sentences[number]), sentences[number]),
        )
        limit = min(LONGEST, tokenizer.model_max_length)
        size = at_once or self._batch
        for start in range(0, len(order), size):
            part = order[start : start + size]
            texts = [sentences[number].replace(MASK, mask) for number in part]
            tokens = tokenizer(
                texts,
                padding=True,
                truncation=True,
                max_length=limit,
                return_tensors="pt",
            )
            yield part, tokens.to(device)

    def vectors(self, tokens: Any) -> Any:
        """The last layer at the mask beside its mean, each of length 1: a tensor of shape (sentences, 2 d).
        Where the mask is cut off, the mean stands in for it.
        """
        import torch
        from torch.nn.functional import normalize

        model, tokenizer, _ = self.loaded
        layer = model(**tokens).last_hidden_state
        kept = tokens["attention_mask"].unsqueeze(-1).to(layer.dtype)
        mean = (layer * kept).sum(1) / kept.sum(1)
        number = (
            tokenizer.mask_token_id if tokenizer.mask_token else tokenizer.unk_token_id
        )
        places = (tokens["input_ids"] == number).unsqueeze(-1).to(layer.dtype) * kept
        found = places.sum(1)
        at_mask = torch.where(
            found > 0, (layer * places).sum(1) / found.clamp(min=1.0), mean
        )
        return torch.cat([normalize(at_mask, dim=1), normalize(mean, dim=1)], dim=1)

    def encode(
        self, sentences: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> Vectors:
        """What `vectors` says, as an array; `progress` is told how many sentences were read."""
        import torch

        found = np.zeros(
            (len(sentences), 2 * self.loaded[0].config.hidden_size), dtype=np.float32
        )
        self.loaded[0].eval()
        with torch.inference_mode():
            for part, tokens in self.batches(sentences):
                found[part] = self.vectors(tokens).float().cpu().numpy()
                if progress is not None:
                    progress(len(part))
        return found


@dataclass(frozen=True, eq=False)
class Head:
    """From a sentence's vector to its mu: linear, with what it does not know (Laplace) as `covariance`.

    Vectors are centred and divided by `scale` first. Shapes: `centre` and `weights` (2 d,), `covariance`
    (2 d, 2 d).
    """

    centre: Floats
    scale: float
    weights: Floats
    intercept: float
    covariance: Floats

    def inputs(self, vectors: Vectors) -> Floats:
        """Vectors as the weights want them."""
        found: Floats = (vectors.astype(np.float64) - self.centre) / self.scale
        return found

    def mu(self, vectors: Vectors) -> Floats:
        """mu of n vectors, shape (n,)."""
        return np.asarray(self.inputs(vectors) @ self.weights + self.intercept)

    def variance(self, vectors: Vectors) -> Floats:
        """Variance of mu, shape (n,), as far as the head knows."""
        inputs = self.inputs(vectors)
        return np.asarray(np.einsum("ij,ij->i", inputs @ self.covariance, inputs))


@dataclass(frozen=True, eq=False)
class Errors:
    """How far a scorer errs, from sentences that it had not seen.

    `cuts`: mu between the thirds, shape (2,); `variance` of the error in each third, without the panel's own,
    (3,); `usual` variance of the head among training sentences; `known`: their vectors, of which the nearest
    tells how far a new sentence is away, (n, 2 d); `farthest`: the 99th percentile of that among themselves.
    """

    cuts: Floats
    variance: Floats
    usual: float
    known: NDArray[np.float16]
    farthest: float

    def deviation(self, mu: Floats, head: Floats) -> Floats:
        """Standard deviation of mu, from the head's variance; what it usually is, the thirds contain."""
        third = np.searchsorted(self.cuts, mu)
        return np.asarray(
            np.sqrt(self.variance[third] + np.maximum(head - self.usual, 0.0))
        )


class Scores(NamedTuple):
    """mu, its deviation, and whether the sentence is unlike all that the scorer learnt from."""

    mu: Floats
    mu_sd: Floats
    unlike: NDArray[np.bool_]


def nearest(vectors: Vectors, known: NDArray[np.float16]) -> Floats:
    """Distance of each vector from the nearest known one, shape (n,)."""
    there = known.astype(np.float32)
    squares = (there**2).sum(axis=1)
    found = np.empty(len(vectors))
    for start in range(0, len(vectors), 1024):
        part = vectors[start : start + 1024]
        apart = (part**2).sum(axis=1)[:, None] + squares - 2.0 * part @ there.T
        found[start : start + 1024] = np.sqrt(np.maximum(apart.min(axis=1), 0.0))
    return found


class DistilledScorer:
    """The scorer in a folder.

    `phrases`: hedging phrases of the sentences that it learnt from; `about`: what `scorer.json` says.
    """

    def __init__(self, folder: Path, device: str = "auto") -> None:
        """Raises `ConfigurationError` when the folder holds no scorer, or one that was changed since it was
        trained, or its encoder is another one.
        """
        self.about, self.identity = about_scorer(folder), scorer_identity(folder)
        self.head, self.errors = stored_model(folder)
        self.phrases = frozenset(self.about.phrases)
        own = folder / "encoder"
        name = str(own.resolve()) if own.exists() else self.about.encoder_name
        self.encoder = MaskedEncoder(name, self.about.revision, device)
        if not own.exists() and self.encoder.identity != self.about.encoder:
            raise ConfigurationError(
                f"{folder}: the scorer was trained with encoder {self.about.encoder}, found "
                f"{self.encoder.identity}. Install that one, or say `lunguage distill` again."
            )

    def read(
        self, sentences: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> Scores:
        """Scores of masked sentences, a forward pass each; identical ones are read once."""
        distinct = sorted(set(sentences))
        number = {one: i for i, one in enumerate(distinct)}
        parts = [
            self.scored(
                self.encoder.encode(distinct[start : start + AT_ONCE], progress)
            )
            for start in range(0, max(len(distinct), 1), AT_ONCE)
        ]
        rows = [number[one] for one in sentences]
        return Scores(
            *(np.concatenate(column)[rows] for column in zip(*parts, strict=True))
        )

    def scored(self, vectors: Vectors) -> Scores:
        """Scores from vectors of the encoder."""
        mu = np.round(self.head.mu(vectors), _DECIMALS)
        mu_sd = np.round(
            self.errors.deviation(mu, self.head.variance(vectors)), _DECIMALS
        )
        return Scores(
            mu, mu_sd, nearest(vectors, self.errors.known) > self.errors.farthest
        )

    def scores(self, masked_sentences: Sequence[str]) -> tuple[Floats, Floats]:
        """As of any `Scorer`."""
        return self.read(masked_sentences)[:2]


class About(BaseModel):
    """What `scorer.json` says.

    Args:
        made_of: fingerprint of the answers and options that it was trained with.
        encoder: identity of the encoder.
        encoder_name: its name on the hub, or its folder.
        revision: of a model of the hub.
        rung: `frozen` or `tuned`.
        ranking_version: of the ranking to which the answers belong.
        phrases: hedging phrases of the sentences that it learnt from.
        files: digest of the weights (SHA-256): `scorer.npz`, and those of an encoder of its own.
        beside: digest of everything else; scorers of version 0.1 have none.
    """

    model_config = ConfigDict(frozen=True)

    made_of: str
    encoder: str
    encoder_name: str
    revision: str
    rung: str
    ranking_version: str
    phrases: list[str]
    files: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    beside: str = ""


_WEIGHTS, _ABOUT_FILE, _ENCODER = "scorer.npz", "scorer.json", "encoder"
_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What numpy raises when a file is damaged; one may claim to hold more than fits into memory."""


def stored_model(folder: Path) -> tuple[Head, Errors]:
    """What was learnt beside the encoder.

    Raises:
        ConfigurationError: the folder holds no scorer, or something in it is not as it was written.
    """
    require_whole(folder)
    values = stored_arrays(folder / _WEIGHTS)
    if problem := _misfit(values):
        raise _damaged(folder, f"{_WEIGHTS}: {problem}")
    head, errors = (
        {field.name: _plain(values[field.name]) for field in fields(of)}
        for of in (Head, Errors)
    )
    return Head(**head), Errors(**errors)


def stored_arrays(file: Path) -> dict[str, NDArray[Any]]:
    """The arrays in a file of a scorer's folder. Raises `ConfigurationError`: it cannot be read."""
    try:
        with np.load(file) as stored:
            return {name: stored[name] for name in stored.files}
    except _UNREADABLE as error:
        raise _damaged(
            file.parent, f"{file.name} cannot be read ({type(error).__name__})"
        ) from None


def require_whole(folder: Path) -> None:
    """Raise `ConfigurationError` unless the files of a scorer are those that were written."""
    about = about_scorer(folder)
    try:
        is_same = files_digest(folder, _weights(folder)) == about.files
        if about.beside:
            is_same &= _beside(folder, about) == about.beside
    except OSError as error:
        raise _damaged(
            folder, f"a file cannot be read ({type(error).__name__})"
        ) from None
    if not is_same:
        raise _damaged(folder, f"files are not those whose digest {_ABOUT_FILE} names")


def _damaged(folder: Path, found: str) -> ConfigurationError:
    return ConfigurationError(
        f"{folder}: {found}; expected the distilled model as `lunguage distill` wrote it, because what it "
        "scores is released under its digest. Say `lunguage distill` again, or put the files back."
    )


def _misfit(values: dict[str, NDArray[Any]]) -> str:
    """What is wrong with the stored arrays; empty: nothing."""
    names = {field.name for of in (Head, Errors) for field in fields(of)}
    if values.keys() != names:
        return f"found other arrays than {', '.join(sorted(names))}"
    size = values["weights"].size
    shapes: dict[str, tuple[int, ...]] = {
        "centre": (size,), "scale": (), "weights": (size,), "intercept": (), "covariance": (size, size),
        "cuts": (2,), "variance": (3,), "usual": (), "farthest": (),
        "known": (len(values["known"]) if values["known"].ndim else 0, size),
    }  # fmt: skip
    for name, shape in shapes.items():
        array = values[name]
        if array.shape != shape or array.dtype.kind != "f":
            return f"array {name} has shape {array.shape} of {array.dtype}, expected {shape} of floats"
        if not np.isfinite(array).all():
            return f"array {name} holds what is no finite number"
    if (
        not size
        or values["scale"] <= 0.0
        or (values["variance"] < 0.0).any()
        or not len(values["known"])
    ):
        return "arrays are empty, or scale or variance is not above zero"
    return ""


def _weights(folder: Path) -> list[Path]:
    """The files whose digest is the scorer's identity."""
    return [folder / _WEIGHTS, *sorted((folder / _ENCODER).rglob("*.safetensors"))]


def _beside(folder: Path, about: About) -> str:
    """Digest of what else decides a score: the rest of `scorer.json`, and of an encoder of its own."""
    others = [path for path in sorted((folder / _ENCODER).rglob("*")) if path.is_file()]
    files = files_digest(
        folder, [path for path in others if path.suffix != ".safetensors"]
    )
    written = json.dumps([about.model_dump(exclude={"beside"}), files], sort_keys=True)
    return hashlib.sha256(written.encode()).hexdigest()


def write_scorer(
    folder: Path, about: dict[str, Any], head: Head, errors: Errors
) -> str:
    """Write what `DistilledScorer` reads beside an `encoder/` that may be there; its digest, which `about`
    then names. The same values give the same bytes.
    """

    def write(stream: BinaryIO) -> None:
        arrays: dict[str, Any] = {**_arrays(head), **_arrays(errors)}
        np.savez(stream, **arrays)

    replace_file(folder / _WEIGHTS, write)
    files = files_digest(folder, _weights(folder))
    said = About(**about, files=files)
    said = said.model_copy(update={"beside": _beside(folder, said)})
    replace_text(
        folder / _ABOUT_FILE, json.dumps(said.model_dump(), indent=1, sort_keys=True)
    )
    return files


def about_scorer(folder: Path) -> About:
    """What `scorer.json` says. Raises `ConfigurationError`: the folder holds no scorer, or it was damaged."""
    try:
        return About.model_validate_json((folder / _ABOUT_FILE).read_bytes())
    except OSError:
        raise ConfigurationError(
            f"{folder}: found no distilled scorer ({_ABOUT_FILE}). `lunguage distill` makes one below "
            "`distilled` of the home."
        ) from None
    except ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"])) or "the whole file"
        raise _damaged(folder, f"{_ABOUT_FILE} is wrong at {field}") from None


def scorer_identity(folder: Path) -> str:
    """Identity of the scorer in a folder; raises as `about_scorer`."""
    return f"distilled/{about_scorer(folder).files[:16]}"


def _arrays(values: Head | Errors) -> dict[str, NDArray[Any]]:
    smaller = {"covariance": np.float32, "known": np.float16}
    return {
        name: np.asarray(value, dtype=smaller.get(name))
        for name, value in asdict(values).items()
    }


def _plain(stored: NDArray[Any]) -> Any:
    return stored.item() if stored.ndim == 0 else stored
