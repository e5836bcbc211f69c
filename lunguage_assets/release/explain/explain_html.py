"""The story of a study as one HTML page that needs nothing else; the page is
`resources/explain/study.html.j2`.
"""

from __future__ import annotations

from lunguage_assets.data_files import page_template
from lunguage_assets.release.explain.explain import StudyStory, counted
from lunguage_assets.release.explain.marks import COLOURS


def story_page(story: StudyStory) -> str:
    """The page; whatever the report says is escaped. It loads nothing, and no browser may let it load
    anything.
    """
    template = page_template("explain", "study.html.j2")
    return template.render(
        story=story,
        counted=counted(story.rows),
        colours=COLOURS,
        interval=lambda p: f"{p[1]:.2f} ({p[0]:.2f} to {p[2]:.2f})",
    )
