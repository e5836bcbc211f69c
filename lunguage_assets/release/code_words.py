"""Codes of the tables in plain words, for the person who asks why a row is as it is.

The words stand in `resources/explain.yaml`; `lunguage explain` and `lunguage read` use
the same ones. What a whole row says in words is in `row_words.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from lunguage_assets.packaged_data import resource

_WORDS_BY_TOPIC: Mapping[str, Mapping[str, str]] = yaml.safe_load(
    resource("explain.yaml").read_text("utf-8")
)

P_SOURCE_WORDS = _WORDS_BY_TOPIC["p_sources"]
"""Code of `p_source` -> where p comes from, with `phrases` and `pathway` left open."""
PATHWAY_WORDS = _WORDS_BY_TOPIC["pathways"]
"""Reason of PATHWAY_MATCHES -> what matches, or why the row expands into nothing."""
RULE_WORDS = _WORDS_BY_TOPIC["rules"]
"""Rule of RESOLUTION_LOG -> what it did."""
CONFLICT_WORDS = _WORDS_BY_TOPIC["conflicts"]
"""Type of a conflict -> what disagrees, or what is said twice."""
FIT_END_WORDS = _WORDS_BY_TOPIC["fit_ends"]
"""Code of `stop` -> why a finding was compared no further."""
FIT_WORDS = _WORDS_BY_TOPIC["fits"]
"""Where a fit ended, with columns of FITTED_PROBABILITIES and `end` left open."""
CUE_WORDS = _WORDS_BY_TOPIC["cues"]
"""Category of a cue, which its id begins with -> what it says of what it reaches."""
COUNTED_CONFLICT_WORDS = {
    f"{conflict} ({sides})": f"{words}: {side_words}"
    for conflict, words in _WORDS_BY_TOPIC["counted_conflicts"].items()
    for sides, side_words in _WORDS_BY_TOPIC["conflict_sides"].items()
}
"""A kind of conflict as `summary.json` names it -> what disagrees, and who says it."""
