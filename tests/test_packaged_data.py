"""Templates under `resources/`: pages escape what is put into them, Markdown shows it
as it is.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.implicit.pathways.pathway_file import PathwayFile
from lunguage_assets.packaged_data import read_as, resource

TEMPLATES = sorted(
    path.relative_to(resource()).as_posix() for path in resource().rglob("*.j2")
)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_page_escapes_all_that_is_put_into_it(name: str) -> None:
    template = resource(name).read_text(encoding="utf-8")
    is_page = name.endswith(".html.j2")
    assert template.startswith("{% autoescape false %}\n") != is_page
    assert template.endswith("{% endautoescape %}\n") != is_page
    assert template.count("autoescape") == (0 if is_page else 2)
    assert "safe" not in template.replace("|", " ").split()


def test_a_mistyped_key_is_named_by_its_nearest_neighbour(tmp_path: Path) -> None:
    packaged = resource("pathways.yaml").read_text(encoding="utf-8")
    mistyped = packaged.replace("status: dp", "Statuss of Mrs Example: dp", 1)
    file = tmp_path / "pathways.yaml"
    file.write_text(mistyped, encoding="utf-8")
    with pytest.raises(
        ConfigurationError, match=r"field .*implies\.0: a key is not known"
    ) as refused:
        read_as(file, PathwayFile)
    assert "Example" not in str(refused.value)
    file.write_text(
        mistyped.replace("Statuss of Mrs Example", "statuss"), encoding="utf-8"
    )
    with pytest.raises(ConfigurationError, match="Did you mean 'status'"):
        read_as(file, PathwayFile)


class Form(BaseModel):
    """A file that a person edits."""

    name: str


def test_lists_that_grow_by_aliases_are_never_written_out(tmp_path: Path) -> None:
    repeated = (f"- &l{level} [{f'*l{level - 1}, ' * 9}]" for level in range(1, 30))
    (tmp_path / "a.yaml").write_text("\n".join(["name:", "- &l0 [a]", *repeated]))
    with pytest.raises(ConfigurationError, match="field name"):
        read_as(tmp_path / "a.yaml", Form)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a.yaml", "name: " + "9" * 5_000),
        ("a.yaml", "name: 2001-99-99"),
        ("a.yaml", "name: a\nname: b"),
        ("a.yaml", "name: [a"),
        ("a.toml", "name = " + "[" * 60_000),
        ("a.toml", "name = " + "9" * 5_000),
    ],
)
def test_a_file_that_no_parser_reads_is_refused_by_its_name(
    tmp_path: Path, file: str, text: str
) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(ConfigurationError, match=rf"{file}.*not readable as"):
        read_as(tmp_path / file, Form)
