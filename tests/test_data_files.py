"""Templates under `resources/`: pages escape what is put into them, Markdown shows it as it is."""

from __future__ import annotations

import pytest

from lunguage_assets.data_files import resource

TEMPLATES = sorted(path.relative_to(resource()).as_posix() for path in resource().rglob("*.j2"))


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_page_escapes_all_that_is_put_into_it_and_no_other_text_does(name: str) -> None:
    template = resource(name).read_text(encoding="utf-8")
    is_page = name.endswith(".html.j2")
    assert template.startswith("{% autoescape false %}\n") != is_page
    assert template.endswith("{% endautoescape %}\n") != is_page
    assert template.count("autoescape") == (0 if is_page else 2)
    assert "safe" not in template.replace("|", " ").split()
