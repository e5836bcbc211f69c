"""What a clause of a sentence has named so far: what the next phrase may be said of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from lunguage_assets.assertion.units import TaggedToken
from lunguage_assets.structuring.rules.drafts import MentionDraft

Role = Literal["", "finding", "place", "beside", "part", "side", "words"]
"""What the phrase before was: `beside` is a location that a finding is only near to."""

# Words that begin a clause and say what it goes on about. They steer this module alone,
# and stand here because rules.yaml is a part of the structurer's identity.
_SPEAKS_OF_FINDINGS = frozenset({"which", "that", "this", "these", "it", "they", "but"})
_KEEPS_TOPIC = frozenset({"there", "that", "which"})


@dataclass(slots=True)
class Clause:
    """What a clause has named so far.

    Attributes:
        findings: that were named last, joined.
        alternatives: the findings of an "or", which share a location behind them.
        open_parts: parts of the body of which nothing has been said yet.
        described_parts: those of which something has been said.
        topic: the location that the clause is about: "on the left, ...".
        pending: words that describe what is named next.
        role: what came last.
    """

    findings: list[MentionDraft] = field(default_factory=list)
    alternatives: list[MentionDraft] = field(default_factory=list)
    open_parts: list[MentionDraft] = field(default_factory=list)
    described_parts: list[MentionDraft] = field(default_factory=list)
    topic: list[TaggedToken] = field(default_factory=list)
    pending: list[TaggedToken] = field(default_factory=list)
    role: Role = ""

    @property
    def last_finding(self) -> MentionDraft | None:
        """The finding that was named last, if the clause has one."""
        return self.findings[-1] if self.findings else None

    def behind(self, word: TaggedToken) -> Clause:
        """Begin the clause behind a break or an aside, with what it goes on about."""
        # Advice, and what is said of somebody else, lead on to nothing.
        if word.aside:
            return Clause()
        is_but = word.form == "but"
        has_said_nothing = not self.findings and not self.described_parts
        following = Clause()
        # "On the left there is an effusion": the topic waits for what is said of it.
        if is_but or (has_said_nothing and word.form in _KEEPS_TOPIC):
            following.topic = self.topic
        # "A small effusion, which has grown": the finding is what grew.
        if word.form in _SPEAKS_OF_FINDINGS:
            following.findings = self.findings
        # "The heart is enlarged but stable": the heart is stable, too.
        if self.described_parts:
            following.described_parts = self.described_parts
            following.role = "words"
        return following
