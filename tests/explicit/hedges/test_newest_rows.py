"""Of a study that came again the newest rows count."""

from __future__ import annotations

import pandas as pd

from lunguage_assets.explicit.hedges.vocabulary import newest_only


def test_of_a_study_that_came_again_the_newest_rows_count_in_the_order_of_registration() -> None:
    first = pd.DataFrame({"study_id": ["s1", "s2"], "value": [1, 2]})
    second = pd.DataFrame({"study_id": ["s2", "s3"], "value": [3, 4]})
    joined = newest_only({"b": second, "a": first}, ["a", "b", "c"])
    assert joined is not None
    assert joined["value"].tolist() == [1, 3, 4]
    assert newest_only({}, ["a"]) is None
