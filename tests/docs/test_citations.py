"""What code and documents refer to exists: sections of the method, files, modules,
links, and every `lunguage` command with the options that a page gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from lunguage_assets.cli.main import commands

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "lunguage_assets",
    "tests",
    "resources",
    "docs",
    "expectations",
    "benchmarks",
    "deploy",
)
TEXT = frozenset(
    {".py", ".yaml", ".yml", ".toml", ".csv", ".json", ".md", ".txt", ".j2"}
)
FILES = {
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.suffix in TEXT
}
PAGES = [
    *sorted(ROOT.glob("*.md")),
    ROOT / "deploy" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]

_CITATION = re.compile(
    r"\b(explicit|implicit)\.md"
    r"(?:,? (?:sections? )?(\d+(?:(?:, | and | to |, and )\d+)*))?"
)
_PATH = re.compile(rf"(?<![\w/.-])((?:{'|'.join(FOLDERS)})/[\w./-]*\w)")
_FILE = re.compile(r"`([a-z_][\w./]*\.py)`")
_FENCE = re.compile(r"^ *```[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"(?:^|[ /])lunguage ([a-z-].*?)(?:  #.*)?$", re.MULTILINE)
_WORDS = re.compile(r"`lunguage ([^`]+)`")
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")


def _numbers(text: str) -> set[int]:
    """The section numbers of "5 and 6", "3, 4, 7" or "3 to 5"."""
    numbers = {int(number) for number in re.findall(r"\d+", text)}
    for first, last in re.findall(r"(\d+) to (\d+)", text):
        numbers |= set(range(int(first), int(last) + 1))
    return numbers


def _anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


def test_every_cited_section_of_the_method_exists() -> None:
    method = {
        page: (ROOT / "docs" / "method" / f"{page}.md").read_text()
        for page in ("explicit", "implicit")
    }
    citations = []
    for path in FILES:
        text = re.sub(
            r"\s*\n[\s#]*", " ", path.read_text(encoding="utf-8")
        )  # a comment goes over lines
        for page, numbers in _CITATION.findall(text):
            citations += [(path.name, page, number) for number in _numbers(numbers)]
    assert len(citations) > 50
    missing = [
        (file, page, number)
        for file, page, number in citations
        if f"\n## {number}. " not in method[page]
    ]
    assert missing == []


def test_every_path_that_a_page_or_a_docstring_names_exists() -> None:
    paths = {
        (page.name, path)
        for page in PAGES
        for path in _PATH.findall(page.read_text(encoding="utf-8"))
    }
    missing_paths = [
        (page, path) for page, path in sorted(paths) if not (ROOT / path).exists()
    ]
    assert missing_paths == []
    present_paths = [
        f"/{path.relative_to(ROOT).as_posix()}" for path in (*FILES, *ROOT.glob("*.py"))
    ]
    sources = [*PAGES, *sorted((ROOT / "lunguage_assets").rglob("*.py"))]
    files = {
        (page.name, name)
        for page in sources
        for name in _FILE.findall(page.read_text(encoding="utf-8"))
    }
    assert len(files) > 20
    missing_files = [
        (source, name)
        for source, name in files
        if not any(path.endswith(f"/{name}") for path in present_paths)
    ]
    assert missing_files == []


def test_every_link_between_pages_leads_somewhere() -> None:
    broken = []
    for page in PAGES:
        for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
            path = page.parent / target if target else page
            if not path.exists() or (
                anchor and path.suffix == ".md" and anchor not in _anchors(path)
            ):
                broken.append((page.relative_to(ROOT).as_posix(), target, anchor))
    assert broken == []


def commands_of(page: Path) -> Iterator[str]:
    """What follows `lunguage` on the page, in blocks of code and inside sentences."""
    text = page.read_text(encoding="utf-8")
    for block in _FENCE.findall(text):
        yield from _LINE.findall(block)
    for words in _WORDS.findall(_FENCE.sub("", text)):
        yield " ".join(words.split())


def mistakes(words: str) -> list[str]:
    """What of the command does not exist."""
    command: click.Command = commands
    remaining_words = re.sub(r"[\[\]]", " ", words).split()
    while (
        isinstance(command, click.Group)
        and remaining_words
        and not remaining_words[0].startswith("-")
    ):
        name = remaining_words.pop(0)
        if name not in command.commands:
            return [name]
        command = command.commands[name]
    known_options = {"--help", "--version"}
    for parameter in command.params:
        known_options.update(parameter.opts)
    return [
        word
        for word in remaining_words
        if word.startswith("--")
        and word.split("=")[0].rstrip(";,") not in known_options
    ]


def test_every_command_of_a_page_exists_with_its_options() -> None:
    commands_on_page = [
        (page.name, words, mistakes(words))
        for page in PAGES
        for words in commands_of(page)
    ]
    wrong = [command for command in commands_on_page if command[2]]
    assert wrong == []


def test_wrong_commands_of_a_page_are_named() -> None:
    assert len(list(commands_of(ROOT / "README.md"))) > 6
    assert len(list(commands_of(ROOT / "docs" / "dagster.md"))) > 5
    assert mistakes("run --data DIR [--budget USD]") == []
    assert mistakes("runn --data DIR") == ["runn"]
    assert mistakes("survey make --ot DIR") == ["--ot"]
