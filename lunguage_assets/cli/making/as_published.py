"""`lunguage run --as-published`: the paper's options, noted in the home, and shown by every run there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.settings import Settings, departures, load_settings, note_as_published, published_options

if TYPE_CHECKING:
    from lunguage_assets.home.home import Home


def take_published_options(home: Home) -> None:
    """Note in the home's settings.toml that its options are the paper's.

    From there every command, the UI and the checks take them, and what was made otherwise is stale.

    Raises:
        ConfigurationError: the encoder cannot be had, or settings.toml is unusable; it is then as it was.
    """
    from lunguage_assets.implicit.encoders.making import encoder_identity

    file = home.settings_file
    try:
        encoder_identity(load_settings(file, as_published=True).implicit, home.root)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"--as-published takes the paper's encoder, BioLORD-2023, unless {file} names another. {error} "
            'Without it say encoder = "lexical" under [implicit] in that file: every output then tells it as '
            "an exception. Nothing was changed."
        ) from None
    home.create()
    note_as_published(file)


def as_published_lines(settings: Settings, preset: str) -> list[str]:
    """What to tell of the options that are the paper's; nothing where the home does not ask for them."""
    if not settings.as_published:
        return []
    other = departures(settings)
    told = ", ".join(
        f"{name} = {value}"
        for group in published_options().values()
        for name, value in group.items()
        if not any(key.endswith(f".{name}") for key in other)
        and not (name == "encoder_model" and "implicit.encoder" in other)
    )
    return [
        f"as published (settings.toml): {told}",
        *(f"not as published: {key} = {used} (published: {was})" for key, (was, used) in other.items()),
        f"not options: the judges are those of preset {preset!r}, the prompts this package's own",
    ]
