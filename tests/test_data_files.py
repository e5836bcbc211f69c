"""Templates under `resources/`: pages escape what is put into them, Markdown shows it as it is."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from lunguage_assets.data_files import page_template, resource

TEMPLATES = sorted(path.relative_to(resource()).as_posix() for path in resource().rglob("*.j2"))


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_page_escapes_all_that_is_put_into_it_and_no_other_text_does(name: str) -> None:
    template = resource(name).read_text(encoding="utf-8")
    is_page = name.endswith(".html.j2")
    assert template.startswith("{% autoescape false %}\n") != is_page
    assert template.endswith("{% endautoescape %}\n") != is_page
    assert template.count("autoescape") == (0 if is_page else 2)
    assert "safe" not in template.replace("|", " ").split()


def test_a_name_that_a_template_is_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="origin"):
        page_template("release", "LICENSE.j2").render()
