"""Word files of the rule-based judges, and the identity of what they say."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

import yaml

from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError

T = TypeVar("T")


def read_words(name: str, kind: str, remedy: str, made_of: Callable[[dict[str, Any]], T]) -> T:
    """What `made_of` makes of the file `name` under `resources/`.

    Raises:
        ConfigurationError: the file cannot be read as `kind`; with the remedy.
    """
    file = resource(name)
    try:
        return made_of(yaml.safe_load(file.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigurationError(f"{file}: not readable as {kind} ({_problem(error)}). {remedy}") from None


def _problem(error: Exception) -> str:
    """A key or value of the file is no patient's; an error of the disk or of YAML is long."""
    name = type(error).__name__
    return name if isinstance(error, OSError | yaml.YAMLError) else f"{name}: {error}"


def words_identity(judge: str, version: str, *entries: object) -> str:
    """Name, version and digest of all entries: other words are another judge."""
    digest = hashlib.blake2b(repr(entries).encode(), digest_size=6).hexdigest()
    return f"{judge}/{version}/{digest}"
