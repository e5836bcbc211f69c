"""deploy/compose.yaml as `docker compose` would read it: variables filled in from
deploy/.env.example and, where that leaves the choice to people, with an invented value;
anchors merged.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
DEPLOY = REPOSITORY / "deploy"
_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)(?::[-?][^}]*)?\}")


def example_variables() -> dict[str, str]:
    """Names and values of deploy/.env.example."""
    lines = (DEPLOY / ".env.example").read_text(encoding="utf-8").splitlines()
    return dict(
        line.split("=", 1) for line in lines if line and not line.startswith("#")
    )


def used_variables() -> set[str]:
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    return set(_VARIABLE.findall(text))


def compose() -> dict[str, Any]:
    """The parsed file. As in compose, variables are filled into what was parsed, not
    into the text.
    """
    variables = example_variables()

    def fill(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: fill(value) for key, value in node.items()}
        if isinstance(node, list):
            return [fill(value) for value in node]
        if isinstance(node, str):
            return _VARIABLE.sub(lambda name: variables[name[1]] or "chosen", node)
        return node

    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    parsed: dict[str, Any] = fill(yaml.safe_load(text))
    return parsed


def services() -> dict[str, dict[str, Any]]:
    service_by_name: dict[str, dict[str, Any]] = compose()["services"]
    return service_by_name


def of_the_package() -> dict[str, dict[str, Any]]:
    """Services that run the package's own image."""
    return {name: service for name, service in services().items() if "build" in service}
