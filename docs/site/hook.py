"""Hook of mkdocs: what pages link to outside docs/ becomes part of the site.

On GitHub a link to `../resources/judges.toml` shows the file. The site holds what is in docs/ and opens
without a network, so every file or folder of the repository that a page links to becomes a page itself.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<=\]\()(?!\w+:)[^)#\s]+")

paths: dict[str, str] = {}
"""Path in the repository of every page that was added, by its address in the site."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what pages link to, and what the added pages link to in turn."""
    paths.clear()
    waiting = [file for file in files if file.is_documentation_page()]
    for page in waiting:
        for link in LINK.findall(page.content_string):
            path = target(page.src_uri, link)
            uri = address(path)
            if uri not in files.src_uris and not path.startswith("docs/") and (ROOT / path).exists():
                paths[uri] = path
                added = File.generated(config, uri, content=shown(path), inclusion=InclusionLevel.NOT_IN_NAV)
                files.append(added)
                waiting.append(added)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links into the site; what is inside <details> is Markdown, as on GitHub."""
    uri = page.file.src_uri
    here = posixpath.dirname(uri) or "."
    text = LINK.sub(lambda link: posixpath.relpath(address(target(uri, link[0])), here), markdown)
    return text.replace("<details>", '<details markdown="1">')


def target(uri: str, link: str) -> str:
    """Path in the repository that a link of a page leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(paths.get(uri, f"docs/{uri}")), link))


def address(path: str) -> str:
    """Address in the site of a path in the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return path if path.endswith(".md") else f"{path}.md"


def shown(path: str) -> str:
    """Markdown of the page that shows a file, or lists a folder."""
    place = ROOT / path
    if place.suffix == ".md":
        return place.read_text(encoding="utf-8")
    if place.is_dir():
        inside = sorted(file for file in place.iterdir() if file.is_file())
        return f"# {path}\n\n" + "".join(f"- [{file.name}]({place.name}/{file.name})\n" for file in inside)
    try:
        language = get_lexer_for_filename(place.name).aliases[0]
    except ClassNotFound:
        language = "text"
    return f"# {path}\n\n~~~~~~ {language}\n{place.read_text(encoding='utf-8')}~~~~~~\n"
