"""A published number points to the row that the delivered reference meant, whatever was
delivered.
"""

from __future__ import annotations

import re
from pathlib import Path

from delivered_rows import as_csv, row
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from profiles import examples
from small_release import InMemory

from lunguage_assets.annotation.method import bundled_method
from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.release.restricted_files import published_query
from lunguage_assets.settings import CorpusSettings

NAMES = ["edema", "Edema", "effusion", "pleural effusion", "left base", "opacities"]
NAMES += ["fluid, left base", "chf"]
fragments = st.one_of(
    st.sampled_from([*NAMES, "haze", "nan"]),
    st.integers(0, 12).map(lambda number: f"idx{number}"),
    st.sampled_from(["IDX 3", "idx00004", "idx" + "9" * 20, "idx", "~idx7"]),
)
POINTING = re.compile(r"(?:^|(?<=, ))((?:(?!idx\d+,).)+?), idx(\d{1,18})(?:, |$)")
"""A name with its number in a published cell."""
cells = st.lists(fragments, max_size=5).map(", ".join)
delivered = st.fixed_dictionaries(
    {
        "ent": st.sampled_from(NAMES),
        "normed_ent": st.sampled_from(["", "", "edema", "effusion"]),
        "location": st.sampled_from(["", "left", "right"]),
        "section": st.sampled_from(["find", "impr", "hist"]),
        "ent_idx": st.integers(1, 9).map(str),
        "dx_status": st.sampled_from(["positive", "positive", "negative"]),
        "evidence": cells,
        "associate": cells,
        "study_id": st.sampled_from(["s50000001", "s50000001", "s50000002"]),
    }
)


@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(delivered, min_size=1, max_size=9))
def test_every_published_number_has_a_row(
    tmp_path: Path, delivered_values: list[dict[str, str]]
) -> None:
    rows = [row(number, **values) for number, values in enumerate(delivered_values)]
    (tmp_path / "Lunguage.csv").write_text(as_csv(rows), encoding="utf-8")
    intake = take_in(find_delivery(tmp_path), CorpusSettings())
    resolved = bundled_method().conclude(vars(intake))["lunguage_plus_plus"]
    resolved = resolved.sort_values(["subject_id", "sequence", "study_id", "idx"])
    tables = {"lunguage_plus_plus": resolved, "reports": intake.reports}
    published = (
        InMemory(tables).frame(published_query().format(patients=True)).fillna("")
    )
    numbered = published.set_index(["study_id", "idx"])["ent"].to_dict()
    for column in ("evidence", "associate"):
        cells = zip(
            published["study_id"], published[column], resolved[column], strict=True
        )
        for study, cell, tokens in cells:
            pointing = POINTING.findall(cell)
            for name, number in pointing:
                assert name == numbered[study, int(number)]
            assert len(pointing) == sum(not token.startswith("~") for token in tokens)
