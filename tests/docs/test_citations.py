"""What code and documents refer to exists: sections of the method, files, modules, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CITING = ("lunguage_assets", "tests", "resources", "docs", "expectations", "benchmarks", "deploy")
TEXT = frozenset({".py", ".yaml", ".yml", ".toml", ".csv", ".json", ".md", ".txt", ".j2"})
PAGES = [*sorted(ROOT.glob("*.md")), ROOT / "deploy" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_CITATION = re.compile(
    r"\b(explicit|implicit)\.md(?:,? (?:sections? )?(\d+(?:(?:, | and | to |, and )\d+)*))?"
)
_PATH = re.compile(
    r"(?<![\w/.-])((?:lunguage_assets|tests|resources|docs|expectations|benchmarks|deploy)/[\w./-]*\w)"
)
_FILE = re.compile(r"`([a-z_][\w./]*\.py)`")
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")


def _texts() -> Iterator[tuple[Path, str]]:
    """Every text file that may cite, a comment or docstring that goes over lines as one line."""
    for folder in CITING:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in TEXT and path.is_file():
                text = path.read_text(encoding="utf-8")
                if "plicit.md" in text:
                    yield path, re.sub(r"\s*\n[\s#]*", " ", text)


def _sections(page: str) -> set[int]:
    text = (ROOT / "docs" / "method" / f"{page}.md").read_text(encoding="utf-8")
    return {int(number) for number in re.findall(r"^## (\d+)\. ", text, re.MULTILINE)}


def _numbers(cited: str) -> set[int]:
    """The section numbers of "5 and 6", "3, 4, 7" or "3 to 5"."""
    numbers = {int(number) for number in re.findall(r"\d+", cited)}
    for first, last in re.findall(r"(\d+) to (\d+)", cited):
        numbers |= set(range(int(first), int(last) + 1))
    return numbers


def _anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_cited_section_of_the_method_exists() -> None:
    sections = {page: _sections(page) for page in ("explicit", "implicit")}
    cited = [
        (path.relative_to(ROOT).as_posix(), page, number)
        for path, text in _texts()
        for page, numbers in _CITATION.findall(text)
        for number in _numbers(numbers)
    ]
    assert len(cited) > 50
    assert [citation for citation in cited if citation[2] not in sections[citation[1]]] == []


def test_every_path_that_a_page_names_exists() -> None:
    named = [(page.name, path) for page in PAGES for path in _PATH.findall(page.read_text(encoding="utf-8"))]
    assert named
    assert [found for found in named if not (ROOT / found[1]).exists()] == []


def test_every_python_file_that_a_page_or_a_docstring_names_exists() -> None:
    sources = [*PAGES, *sorted((ROOT / "lunguage_assets").rglob("*.py"))]
    folders = (ROOT, *(ROOT / folder for folder in CITING))
    present = {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in folder.glob("*.py" if folder == ROOT else "**/*.py")
    }
    named = {
        (source.relative_to(ROOT).as_posix(), name)
        for source in sources
        for name in _FILE.findall(source.read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    assert [found for found in sorted(named) if not _is_a_file(found[1], present)] == []


def _is_a_file(name: str, present: set[str]) -> bool:
    """A file of that name anywhere, or a path from the repository, the package or one of its folders."""
    return any(path == name or path.endswith(f"/{name}") for path in present)


def test_every_link_between_pages_leads_somewhere() -> None:
    broken = []
    for page in PAGES:
        for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
            path = page.parent / target if target else page
            if not path.exists() or (anchor and path.suffix == ".md" and anchor not in _anchors(path)):
                broken.append((page.relative_to(ROOT).as_posix(), target, anchor))
    assert broken == []
