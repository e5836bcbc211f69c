"""What assets need from outside: the home with its batches, the settings, the judges."""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg

from lunguage_assets.home import Home
from lunguage_assets.judges.configuration import JudgesConfiguration, load_judges
from lunguage_assets.settings import Settings, load_settings

JUDGES_VARIABLE = "LUNGUAGE_JUDGES"


def judges_file() -> Path | None:
    """The user's own judges file, named by `$LUNGUAGE_JUDGES`; None means the bundled one."""
    return Path(os.environ[JUDGES_VARIABLE]) if os.environ.get(JUDGES_VARIABLE) else None


class HomeResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The home folder, by path, so that a test or a deployment can name another."""

    root: str

    @property
    def home(self) -> Home:
        return Home(Path(self.root))

    @property
    def settings(self) -> Settings:
        return load_settings(self.home.settings_file)

    @property
    def judges(self) -> JudgesConfiguration:
        return load_judges(judges_file())
