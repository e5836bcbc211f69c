"""Every `lunguage` command on a page is one: it exists, and has the options that the
page gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from lunguage_assets.cli.main import commands

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    ROOT / "deploy" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]

_FENCE = re.compile(r"^ *```[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"(?:^|[ /])lunguage ([a-z-].*?)(?:  #.*)?$", re.MULTILINE)
_WORDS = re.compile(r"`lunguage ([^`]+)`")


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
