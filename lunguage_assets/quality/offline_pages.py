"""Great Expectations' pages made to be read without network, and an index that needs no script.

As they come, its pages load style sheets, scripts and fonts from public servers, and a logo whose address
carries an identity of the project and the time. All of that is taken out; a small style sheet beside the
pages stands in for what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path

from jinja2 import Environment

from lunguage_assets.files import replace_text

STYLE = "static/styles/offline.css"

_REMOVED = (
    re.compile(r"<script\b.*?</script>", re.DOTALL),
    re.compile(r"<footer\b.*?</footer>", re.DOTALL),
    re.compile(r"<link\b[^>]*\bhref=\"(?:https?:)?//[^>]*>"),
    re.compile(
        r"<link\b[^>]*\brel=\"shortcut icon\"[^>]*>"
    ),  # its relative address is wrong on half of the pages
    re.compile(r"<img\b[^>]*\bsrc=\"(?:https?:)?//[^>]*>"),
    re.compile(
        r"<div class=\"card mb-3\">\s*<div class=\"card-header p-2\">\s*<strong>Actions</strong>.*?</div>\s*</div>\s*</div>\s*</div>\s*</div>",
        re.DOTALL,
    ),
    re.compile(r"url\(['\"]?(?:https?:)?//[^)]*\)"),
    re.compile(r"@import[^;]*;"),
    re.compile(r"\bdata-(?:toggle|dismiss)=\"[^\"]*\""),
)
_WALKTHROUGH = re.compile(r"<div class=\"modal\b.*?(?=<div class=\"container-fluid)", re.DOTALL)
_OUTWARD = re.compile(r"<a\b[^>]*\bhref=\"https?://[^>]*>(.*?)</a>", re.DOTALL)
_RANDOM = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_NOW = re.compile(r"\?d=\d{8}T[0-9.]+Z(?:&amp;|&)dataContextId=[0-9a-f-]+")

_CSS = """\
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1200px; padding: 1rem 2rem; color: #1b1f24; background: #fff; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }
th, td { border: 1px solid #d0d7de; padding: .3rem .6rem; text-align: left; vertical-align: top; }
th { background: #f6f8fa; }
a { color: #0969da; text-decoration: none; }
a:hover { text-decoration: underline; }
.alert, .card { border: 1px solid #d0d7de; border-radius: 6px; padding: .6rem 1rem; margin: .8rem 0; }
.card-header { font-weight: 600; }
.nav { list-style: none; padding-left: 0; columns: 14rem; }
.badge { border-radius: 4px; padding: 0 .35rem; background: #eaeef2; font-size: 90%; }
.badge-secondary, .badge-info { background: #ddf4ff; }
.fa-check-circle::before, .fa-check::before { content: "\\2713"; font-style: normal; font-weight: 700; }
.fa-times::before, .fa-exclamation-triangle::before { content: "\\2717"; font-style: normal; font-weight: 700; }
.text-success, .holds { color: #1a7f37; }
.text-danger, .fails { color: #cf222e; font-weight: 600; }
.cooltip .top { display: none; }
.breadcrumb { list-style: none; display: flex; gap: .5rem; padding: 0; }
h1 { font-size: 1.5rem; }
h4, h5, h6 { font-size: 1rem; margin: .6rem 0; }
.small { color: #57606a; font-size: 90%; }
"""

_INDEX = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Data Docs</title>
<link rel="stylesheet" href="{{ style }}">
</head>
<body>
<h1>Data Docs</h1>
<p>Every rule of every table, on every stored partition. {{ rows | length }} partitions, {{ failing }} with a rule that fails{% if unreadable %}, {{ unreadable }} that
cannot be read{% endif %}. Counts only: no value of any table is in these pages.</p>
<p class="small">The numbers are those of the files as they were when this was built; <code>lunguage docs</code> builds it anew. Times are UTC.</p>
{% for table, partitions in tables %}
<h2 id="{{ table }}"><a href="expectations/{{ table }}.html">{{ table }}</a></h2>
<table>
<thead><tr><th>partition</th><th>stored</th><th>rows</th><th>rules</th><th>failing</th><th></th></tr></thead>
<tbody>
{% for row in partitions %}
{% if row.unreadable %}
<tr><td>{{ row.partition }}</td><td>{{ row.stored }}</td><td colspan="3" class="fails">{{ row.unreadable }}</td><td></td></tr>
{% else %}
<tr><td>{{ row.partition }}</td><td>{{ row.stored }}</td><td>{{ row.rows }}</td><td>{{ row.rules }}</td>
<td class="{{ 'fails' if row.failing else 'holds' }}">{{ row.failing }}</td><td><a href="{{ row.page }}">results</a></td></tr>
{% endif %}
{% endfor %}
</tbody>
</table>
{% else %}
<p>Nothing is stored yet.</p>
{% endfor %}
</body>
</html>
"""


@dataclass(frozen=True)
class IndexRow:
    """A partition in the index: its counts and its page, or why it cannot be read."""

    table: str
    partition: str
    stored_at: datetime
    rows: int = 0
    rules: int = 0
    failing: int = 0
    page: str = ""
    unreadable: str = ""

    @property
    def label(self) -> str:
        return f"{self.table} ({self.partition})"

    @property
    def stored(self) -> str:
        return f"{self.stored_at:%Y-%m-%d %H:%M}"


def make_offline(site: Path) -> None:
    """Take out of every page and style sheet what would be loaded from elsewhere, and what only works with
    it.
    """
    for path in sorted(site.rglob("*.css")):
        replace_text(path, _offline(path.read_text(encoding="utf-8")))
    for path in sorted(site.rglob("*.html")):
        up = "../" * (len(path.relative_to(site).parts) - 1)
        page = _numbered(
            _OUTWARD.sub(r"\1", _offline(_WALKTHROUGH.sub("", path.read_text(encoding="utf-8"))))
        )
        replace_text(path, page.replace("</head>", f'<link rel="stylesheet" href="{up}{STYLE}">\n</head>', 1))
    for picture in (site / "static" / "images").glob("*.gif"):  # they belong to the walkthrough
        picture.unlink()
    replace_text(site / STYLE, _CSS)


def write_index(site: Path, rows: Sequence[IndexRow]) -> None:
    """The first page: every partition with its counts, by table."""
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(_INDEX)
    tables = [(table, list(partitions)) for table, partitions in groupby(rows, key=lambda row: row.table)]
    page = template.render(
        rows=rows,
        tables=tables,
        style=STYLE,
        failing=sum(row.failing > 0 for row in rows),
        unreadable=sum(bool(row.unreadable) for row in rows),
    )
    replace_text(site / "index.html", page)


def _numbered(page: str) -> str:
    """Random names inside a page, counted instead: the same results give the same bytes."""
    numbers: dict[str, str] = {}
    return _RANDOM.sub(lambda found: numbers.setdefault(found.group(), str(len(numbers) + 1)), page)


def _offline(text: str) -> str:
    for pattern in _REMOVED:
        text = pattern.sub("", text)
    return _NOW.sub("", text)
