"""What a clause of a sentence has named so far: what the next phrase may be said of.

The drafts of all clauses of a sentence are one list, which every phrase may add to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from lunguage_assets.assertion.units import TaggedToken
from lunguage_assets.structuring.rules.drafts import MentionDraft

Role = Literal["", "finding", "place", "beside", "part", "side"]
"""What the phrase before was: `beside` is a location that a finding is only near to."""

_KEEPS_TOPIC = frozenset({"but", "there", "that", "which"})
"""Words that begin a clause of the same location.

They steer this module alone.
"""


@dataclass(slots=True)
class Clause:
    """What a clause has named so far.

    Attributes:
        drafts: of the sentence, in the order of its words.
        findings: that were named last, joined.
        alternatives: the findings of an "or", which share a location behind them.
        open_parts: parts of the body of which nothing has been said yet.
        described_parts: those of which something has been said.
        topic: the location that the clause is about: "on the left, ...".
        pending: words that describe what is named next.
        role: what came last.
    """

    drafts: list[MentionDraft] = field(default_factory=list)
    findings: list[MentionDraft] = field(default_factory=list)
    alternatives: list[MentionDraft] = field(default_factory=list)
    open_parts: list[MentionDraft] = field(default_factory=list)
    described_parts: list[MentionDraft] = field(default_factory=list)
    topic: list[TaggedToken] = field(default_factory=list)
    pending: list[TaggedToken] = field(default_factory=list)
    role: Role = ""

    def behind(self, word: TaggedToken) -> Clause:
        """Begin the clause behind a break, with what it goes on about."""
        # "A small effusion, which has grown": the finding is what grew. "The heart is
        # enlarged but stable": the heart is stable, too.
        following = Clause(
            drafts=self.drafts,
            findings=self.findings,
            described_parts=self.described_parts,
        )
        # "On the left there is an effusion": the topic waits for what is said of it.
        if word.form in _KEEPS_TOPIC:
            following.topic = self.topic
        return following
