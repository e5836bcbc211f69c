"""The story of a study as one HTML page that needs nothing else; the page is
`resources/explain/study.html.j2`.
"""

from __future__ import annotations

from lunguage_assets.data_files import resource
from lunguage_assets.release.explain.explain import StudyStory, counted


def story_page(story: StudyStory) -> str:
    """The page; whatever the report says is escaped. It loads nothing, and no browser may let it load
    anything.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    template = environment.from_string(resource("explain", "study.html.j2").read_text(encoding="utf-8"))
    return template.render(story=story, counted=counted(story.rows))
