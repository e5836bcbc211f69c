"""What the phrases of a sentence are said of: findings, locations, parts (method.md 7).

A sentence is read from left to right. What has been named so far in a clause decides
what the next phrase is said of: behind a finding "in the left base" is its location,
behind "the heart" the word "large" describes the heart.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from lunguage_assets.assertion.units import DEVICE, JOINTS, LIMITATION, TaggedToken
from lunguage_assets.assertion.vocabulary import Kind
from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.structuring.rules.clause import Clause
from lunguage_assets.structuring.rules.drafts import (
    COURSES,
    MentionDraft,
    inherited_modifiers,
    read_as_course,
    says_state,
)
from lunguage_assets.structuring.rules.findings import (
    drafts_of_findings,
    may_be_explained,
    words_of_two,
)
from lunguage_assets.structuring.rules.locations import (
    are_sides,
    is_side,
    lacks_joint,
    with_noun_behind,
    with_side_before,
)
from lunguage_assets.structuring.rules.phrases import (
    END_OF_SENTENCE,
    Phrase,
    phrases_of,
)

_LEADS_TO_WHAT_BROKE = frozenset({"of", "in", "the"})
"""Words between a fracture and the device that has it."""


def read_phrases(tokens: list[TaggedToken]) -> list[MentionDraft]:
    """Read the mentions of a sentence, in the order of its words.

    Args:
        tokens: of the sentence, marked by the reader of doubt (`assertion.reader`).
    """
    return _PhraseReader().read(tokens)


class _PhraseReader:
    """Reads one sentence, phrase by phrase.

    `lead` is, throughout, the kinds of the words that lead to a phrase.
    """

    def __init__(self) -> None:
        self._drafts: list[MentionDraft] = []
        self._clause = Clause()
        self._pending: list[TaggedToken] = []
        """Words that describe what is named next."""
        self._carried_lead: set[Kind] = set()
        """What led to an adjective whose noun stands behind the next one."""
        self._is_joined = False
        self._is_behind_slash = False

    def read(self, tokens: list[TaggedToken]) -> list[MentionDraft]:
        """Read the mentions of the sentence."""
        phrases = [*phrases_of(tokens), END_OF_SENTENCE]
        for phrase, following in pairwise(phrases):
            for word in phrase.lead_in:
                if word.aside:
                    self._begin_clause(Clause())
                elif word.kind == "break":
                    self._begin_clause(self._clause.behind(word))
            if phrase.tokens:
                self._take(phrase, following)
        self._attach_limitations()
        drafts = [
            draft for draft in self._drafts if draft.is_finding or draft.is_judged
        ]
        _link_open_causes(drafts)
        for draft in drafts:
            draft.complete()
        return drafts

    def _begin_clause(self, clause: Clause) -> None:
        self._attach_limitations()
        self._pending = []
        self._clause = clause

    def _attach_limitations(self) -> None:
        """ "Clear lungs, given patient rotation": the limit is one of what was said."""
        limits = [word for word in self._pending if _limits_the_view(word)]
        if not limits:
            return
        for draft in reversed(self._drafts):
            if draft.is_finding or draft.is_described:
                draft.modifiers = [*draft.modifiers, *limits]
                return

    # --- one phrase

    def _take(self, phrase: Phrase, following: Phrase) -> None:
        lead = self._read_lead_in(phrase)
        self._is_joined = bool(lead) and lead <= JOINTS
        self._is_behind_slash = phrase.is_behind_slash
        if self._is_what_broke(phrase):
            self._take_what_broke(phrase)
        elif phrase.names("finding"):
            self._take_findings(phrase, lead)
        elif self._is_location_of_judgement(phrase, lead, following):
            self._take_location_of_judgement(phrase)
        elif phrase.names("anatomy") or self._is_location(phrase, lead):
            self._take_location(phrase, lead, following)
        elif not following.counts_films(phrase):
            self._take_description(phrase, lead, following)

    def _read_lead_in(self, phrase: Phrase) -> set[Kind]:
        """Tell by which kinds of words a phrase is led to."""
        lead = {token.kind for token in phrase.lead_in}
        if self._carried_lead:
            lead = self._carried_lead
            self._carried_lead = set()
        if phrase.begins_a_meaning:
            lead.discard("and")
        # "Atelectasis or, less likely, pneumonia" is one list: a doubt begins no other.
        denials = [token for token in phrase.lead_in if token.kind == "negated"]
        if "alternative" in lead and all(denial.doubts for denial in denials):
            lead.discard("negated")
        if phrase.is_of_mimicry:
            return (lead - {"negated"}) | {"link"}
        if self._is_identified(phrase):
            return {"link"}
        return lead

    def _is_identified(self, phrase: Phrase) -> bool:
        """ "The opacity is a granuloma": the verb says what the sign is."""
        findings = self._clause.findings
        if not findings or not phrase.is_behind_verbs:
            return False
        names_cause = any(
            token.kind == "finding" and may_be_explained(token)
            for token in phrase.tokens
        )
        return names_cause and findings[-1].head.name in WORDS["identified"]

    # --- findings

    def _is_what_broke(self, phrase: Phrase) -> bool:
        """ "Fracture of the pacemaker lead": the device is the fracture's location."""
        findings = self._clause.findings
        if not findings or findings[-1].head.name != "fracture" or not phrase.lead_in:
            return False
        if any(token.form not in _LEADS_TO_WHAT_BROKE for token in phrase.lead_in):
            return False
        named = [token for token in phrase.tokens if token.kind == "finding"]
        return bool(named) and all(token.code == DEVICE for token in named)

    def _take_what_broke(self, phrase: Phrase) -> None:
        fracture = self._clause.findings[-1]
        fracture.locations = fracture.locations + phrase.tokens
        self._clause.role = "place"

    def _take_findings(self, phrase: Phrase, lead: set[Kind]) -> None:
        # "Chronic changes, no acute disease": what stands before a denial is not
        # denied.
        pending = [] if "negated" in lead else self._pending
        self._pending = []
        drafts = drafts_of_findings(phrase.tokens, pending)
        first = drafts[0]
        twin = self._same_finding_before(first, pending, lead)
        if twin is not None:
            drafts.insert(0, twin)
        elif self._lies_at_topic(first, lead):
            self._locate_at_topic(drafts)
        before = self._clause.findings[-1] if self._clause.findings else None
        if before is not None and "copula" in lead:
            _locate_at_broken_device(first, before)
        signs = self._signs_of(before, lead)
        for draft in drafts:
            draft.signs = signs
        is_alternative = "alternative" in lead or self._is_behind_slash
        if before is not None and self._is_joined and is_alternative:
            _share_location(before, drafts)
        self._remember_findings(drafts, lead)

    def _same_finding_before(
        self, first: MentionDraft, pending: list[TaggedToken], lead: set[Kind]
    ) -> MentionDraft | None:
        """Draft the finding that is named once for two locations, at the first of them.

        Args:
            first: the finding of the second location.
            pending: words before the first location.
            lead: what leads to the second location.

        Returns:
            None where there is no such location before.
        """
        if not lead <= JOINTS:
            return None
        if self._clause.role == "side" and first.locations:
            return self._same_finding_at_side(first, pending)
        if self._names_same_part(first):
            return self._same_finding_at_part(first)
        return None

    def _same_finding_at_side(
        self, first: MentionDraft, pending: list[TaggedToken]
    ) -> MentionDraft:
        """ "Moderate right and small left effusions"."""
        side = self._clause.topic
        # Of "right and left lower lobe" the noun belongs to both.
        shared = first.locations[1:] if are_sides(side) else []
        locations = with_noun_behind([*side, *shared], first.locations)
        words = words_of_two(first, pending)
        first.modifiers = words.second
        first.locations = with_side_before(first.locations, side)
        return MentionDraft(first.head, locations, words.first)

    def _same_finding_at_part(self, first: MentionDraft) -> MentionDraft:
        """ "Right fifth rib and left seventh rib fractures"."""
        (part,) = self._clause.open_parts
        words = words_of_two(first, part.modifiers)
        first.modifiers = words.second
        return MentionDraft(first.head, [*part.locations, part.head], words.first)

    def _names_same_part(self, finding: MentionDraft) -> bool:
        """Whether the bone before, which waits for words, is that of this finding."""
        open_parts = self._clause.open_parts
        if self._clause.role != "part" or not self._is_joined or len(open_parts) != 1:
            return False
        bone = open_parts[0].head.name
        parts = {
            location.name
            for location in finding.locations
            if location.kind == "anatomy"
        }
        return bone in WORDS["bones"] and parts == {bone}

    def _lies_at_topic(self, finding: MentionDraft, lead: set[Kind]) -> bool:
        """Whether a finding without a location may lie where the clause is about."""
        clause = self._clause
        goes_on_list = bool(clause.findings and lead & JOINTS)
        return not (finding.locations or clause.described_parts or goes_on_list)

    def _locate_at_topic(self, drafts: list[MentionDraft]) -> None:
        """Give findings without a location what the clause is about."""
        clause = self._clause
        if not clause.topic:
            return
        # "PLEURA: no mass": under a sub-heading only findings that mean nothing without
        # an organ lie in it; a pneumothorax has its own in its name. In "lung volumes"
        # nothing lies.
        is_list = clause.is_sub_heading or any(
            location.name in WORDS["measured"] for location in clause.topic
        )
        for draft in drafts:
            if is_list:
                if draft.head.name in WORDS["anywhere"]:
                    draft.sub_heading = clause.topic
            elif draft.locations or len(clause.open_parts) < 2:
                draft.locations = draft.locations or clause.topic
            elif not draft.head.negation:
                # "The hila and mediastinum show adenopathy" is a row for each; a denial
                # is one row.
                draft.location_groups = [
                    [*part.locations, part.head] for part in clause.open_parts
                ]

    def _signs_of(
        self, before: MentionDraft | None, lead: set[Kind]
    ) -> list[MentionDraft]:
        """Find what supports the findings of a phrase: "opacity suggesting pneumonia".

        Args:
            before: the finding before them.
            lead: what leads to them.
        """
        is_link = bool(lead & {"link", "hedged"})
        # "Opacity and possible effusion", "with possible effusion": beside each other.
        if is_link and not lead & {"and", "alternative", "with"}:
            return [
                finding
                for finding in self._clause.findings
                if may_be_explained(finding.head)
            ]
        # "Opacity suggesting pneumonia or edema" supports both.
        if before is not None and self._is_joined:
            return before.signs
        return []

    def _remember_findings(self, drafts: list[MentionDraft], lead: set[Kind]) -> None:
        """Make these findings what the next phrase may be said of."""
        clause = self._clause
        goes_on_list = self._is_joined and bool(clause.findings)
        if goes_on_list and "alternative" in lead:
            listed = clause.alternatives or clause.findings[-1:]
            clause.alternatives = [*listed, *drafts]
        else:
            clause.alternatives = []
        clause.findings = [*clause.findings, *drafts] if goes_on_list else drafts
        self._drafts += drafts
        if clause.described_parts and not clause.is_sub_heading:
            clause.topic = []
        clause.open_parts = []
        clause.described_parts = []
        clause.role = "finding"

    # --- locations and parts of the body

    def _is_location(self, phrase: Phrase, lead: set[Kind]) -> bool:
        """Whether a phrase with a location is one, and no predicate.

        A predicate is "(the lungs) are clear bilaterally".
        """
        if not phrase.names("place"):
            return False
        has_subject = bool(self._clause.open_parts or self._clause.findings)
        begins_with_place = phrase.tokens[0].kind == "place"
        return not ("copula" in lead and has_subject and not begins_with_place)

    def _is_location_of_judgement(
        self, phrase: Phrase, lead: set[Kind], following: Phrase
    ) -> bool:
        """ "The trachea is narrowed at the level of the arch": no new subject."""
        clause = self._clause
        if "preposition" not in lead or phrase.lead_in[-1].form == "of":
            return False
        if any(token.kind not in ("anatomy", "place") for token in phrase.tokens):
            return False
        is_judged = bool(clause.described_parts) and says_state(
            clause.described_parts[-1].modifiers
        )
        is_behind = clause.role in ("part", "words")
        return is_judged and is_behind and not following.is_predicate

    def _take_location_of_judgement(self, phrase: Phrase) -> None:
        # "Displaced to the left" tells where to, and no location.
        if not phrase.is_beside:
            part = self._clause.described_parts[-1]
            part.locations = [*part.locations, *phrase.tokens]

    def _take_location(
        self, phrase: Phrase, lead: set[Kind], following: Phrase
    ) -> None:
        """Take a phrase with a location or a part of the body, and no finding."""
        clause = self._clause
        # "Nodule above the diaphragm": the preposition is a part of the location.
        levels = [tok for tok in phrase.lead_in if tok.form in WORDS["levels"]]
        tokens = [*levels, *phrase.tokens]
        locations = [token for token in tokens if _is_location_word(token)]
        words = [token for token in tokens if not _is_location_word(token)]
        last = tokens[-1]
        if clause.findings and not _is_location_word(last):
            read_as_course(last)  # "Effusion on the left increased".
        if self._is_location_of_finding(lead):
            is_beside = phrase.is_beside
            self._locate_findings(locations, words, lead, is_beside=is_beside)
        elif self._is_also_beside(lead, following):
            return
        elif self._is_another_location(words, following):
            self._add_row_of_location(locations)
        else:
            self._take_topic(locations, words, lead, following)

    def _is_location_of_finding(self, lead: set[Kind]) -> bool:
        """ "Effusion in the left base"."""
        is_behind_finding = self._clause.role in ("finding", "place", "words")
        return (
            "preposition" in lead and bool(self._clause.findings) and is_behind_finding
        )

    def _is_also_beside(self, lead: set[Kind], following: Phrase) -> bool:
        """ "Nodule in the lung, over the rib and the scapula": it lies in neither."""
        if self._clause.role != "beside" or not lead:
            return False
        return lead <= {*JOINTS, "preposition"} and not following.is_predicate

    def _is_another_location(self, words: list[TaggedToken], following: Phrase) -> bool:
        """ "Opacities in the right base and the lingula": a row for each."""
        goes_on = self._clause.role == "place" and self._is_joined
        if not goes_on or not self._clause.findings:
            return False
        # "... in the base, and the enlarged heart", "..., and the heart is large".
        return not says_state(words) and not following.is_predicate

    def _add_row_of_location(self, locations: list[TaggedToken]) -> None:
        for finding in self._clause.alternatives or self._clause.findings[-1:]:
            before: list[TaggedToken] = []
            if finding.location_groups:
                before = finding.location_groups[-1]
                finding.location_groups[-1] = with_noun_behind(before, locations)
            finding.location_groups.append(with_side_before(locations, before))

    def _locate_findings(
        self,
        locations: list[TaggedToken],
        words: list[TaggedToken],
        lead: set[Kind],
        *,
        is_beside: bool,
    ) -> None:
        """Add a location behind a preposition to the findings before it.

        Args:
            locations: words of the location.
            words: other words of the phrase.
            lead: what leads to it.
            is_beside: whether it is what a finding is near to.
        """
        clause = self._clause
        is_near_only = False
        for finding in clause.alternatives or self._findings_at(locations, lead):
            if is_beside and finding.has_definite_location:
                is_near_only = True
                continue
            self._leave_topic(finding, locations)
            self._add_location(finding, locations, lead)
            finding.modifiers = finding.modifiers + words
        clause.role = "beside" if is_near_only else "place"

    def _leave_topic(self, finding: MentionDraft, locations: list[TaggedToken]) -> None:
        """Leave the topic for a location in words; only its side stays.

        "On the left, there is an opacity in the lower lobe".
        """
        # The very list of the topic: the finding was given no location in words.
        is_at_topic = finding.locations is self._clause.topic and not finding.is_device
        if is_at_topic and any(location.kind == "anatomy" for location in locations):
            finding.locations = [
                location for location in finding.locations if is_side(location)
            ]

    def _add_location(
        self, finding: MentionDraft, locations: list[TaggedToken], lead: set[Kind]
    ) -> None:
        groups = finding.location_groups
        if not groups:
            groups.append(locations)
        elif self._clause.role == "place" and lead & JOINTS:
            # "In the right base and in the lingula": another row.
            groups[-1] = with_noun_behind(groups[-1], locations)
            groups.append(with_side_before(locations, groups[-1]))
        else:
            # "In the base of the right lung": one location.
            groups[-1] = groups[-1] + locations

    def _findings_at(
        self, locations: list[TaggedToken], lead: set[Kind]
    ) -> list[MentionDraft]:
        """Find the findings whose location follows.

        Behind a verb these are all joined ones that have none.
        "Scoliosis and degenerative changes of the spine" are both of the spine.

        Args:
            locations: words of the location.
            lead: what leads to it.
        """
        findings = self._clause.findings
        is_of_bones = any(location.name in WORDS["bones"] for location in locations)
        is_behind_verb = self._clause.role == "words" or bool(lead & {"copula", "seen"})
        reached = [
            finding
            for finding in findings[:-1]
            if _needs_location(finding)
            and (is_behind_verb or _is_skeletal(finding, is_of_bones=is_of_bones))
        ]
        return [*reached, *findings[-1:]]

    def _take_topic(
        self,
        locations: list[TaggedToken],
        words: list[TaggedToken],
        lead: set[Kind],
        following: Phrase,
    ) -> None:
        """Take a location that is said of nothing before it, for what follows.

        Args:
            locations: words of the location.
            words: other words of the phrase.
            lead: what leads to it.
            following: the phrase behind it.
        """
        clause = self._clause
        modifiers = self._pending + words
        self._pending = []
        parts = [location for location in locations if location.kind == "anatomy"]
        if parts:
            if "preposition" in lead and clause.open_parts and clause.role == "part":
                # "The apex of the left lung".
                part = clause.open_parts[-1]
                part.locations = part.locations + locations
            else:
                self._take_parts(locations, parts, modifiers, following)
        elif self._is_other_side(locations, words, lead, following):
            other = MentionDraft(clause.findings[-1].head, locations, modifiers)
            self._drafts.append(other)
            clause.findings = [*clause.findings, other]
        elif clause.open_parts and self._is_joined and following.is_predicate:
            # "The heart and pulmonary ___ are normal": the noun of the second part is
            # unknown.
            return
        else:
            clause.topic = locations
            clause.role = "side"
            self._pending = modifiers

    def _is_other_side(
        self,
        locations: list[TaggedToken],
        words: list[TaggedToken],
        lead: set[Kind],
        following: Phrase,
    ) -> bool:
        """Whether a finding that is named once lies on a second side, too.

        "Small right effusion and moderate left".

        Args:
            locations: words of the second side.
            words: that describe the finding there.
            lead: what leads to it.
            following: the phrase behind it.
        """
        if "and" not in lead or not self._is_joined or self._clause.role != "finding":
            return False
        if all(word.code == LIMITATION.code for word in words):
            return False  # Nothing describes the second one.
        if following.names("finding") or not are_sides(locations):
            return False
        sides = {location.form for location in locations}
        locations_before = self._clause.findings[-1].locations
        sides_before = {
            location.form for location in locations_before if is_side(location)
        }
        return bool(sides_before) and sides.isdisjoint(sides_before)

    def _take_parts(
        self,
        locations: list[TaggedToken],
        parts: list[TaggedToken],
        modifiers: list[TaggedToken],
        following: Phrase,
    ) -> None:
        """Take one part of the body, or two that lack their "and".

        Args:
            locations: words of the location.
            parts: the parts of the body among them.
            modifiers: words that describe them.
            following: the phrase behind them.
        """
        if self._is_joined and self._clause.role == "side" and len(locations) > 1:
            # "Mediastinal and hilar lymph nodes".
            locations = [*self._clause.topic, *locations]
        if lacks_joint(locations, parts):
            boundary = locations.index(parts[1])
            first_locations = locations[:boundary]
            locations = locations[boundary:]
            self._take_part(MentionDraft.of_part(parts[0], first_locations, modifiers))
            self._is_joined = True
        self._take_part(MentionDraft.of_part(parts[-1], locations, modifiers))
        self._clause.topic = locations
        self._clause.is_sub_heading = following.is_under_heading(locations)

    def _take_part(self, part: MentionDraft) -> None:
        """Take a part of the body: described by the words before it, or not yet."""
        clause = self._clause
        self._drafts.append(part)
        if part.is_described:
            described_before: list[MentionDraft] = []
            if self._is_joined:
                # "Heart and normal mediastinum".
                _describe(clause.open_parts, part.modifiers)
                described_before = clause.described_parts
            clause.described_parts = [*described_before, part]
            clause.open_parts = []
        elif self._is_described_as_before():
            # "Normal heart size and mediastinum".
            part.modifiers = inherited_modifiers(clause.described_parts[-1])
            clause.open_parts = [part]
            clause.described_parts = [*clause.described_parts, part]
        else:
            open_before = clause.open_parts if self._is_joined else []
            clause.open_parts = [*open_before, part]
            clause.described_parts = []
        clause.findings = []
        clause.role = "part"

    def _is_described_as_before(self) -> bool:
        described = self._clause.described_parts
        return bool(described) and self._is_joined and described[-1].is_described_before

    # --- words that describe

    def _take_description(
        self, phrase: Phrase, lead: set[Kind], following: Phrase
    ) -> None:
        """Take a phrase that names neither a finding nor, by itself, a location."""
        if "copula" not in lead and lead & JOINTS and following.adds_adjective_and_noun:
            # "Small, calcified granuloma": the noun of the adjective follows.
            self._pending = self._pending + phrase.tokens
            return
        if lead and lead <= {"hedged", "link"} and following.adds_finding:
            # "May be resolving or new pneumonia": the hedge belongs to the finding.
            self._pending = self._pending + phrase.tokens
            self._carried_lead = lead
            return
        clause = self._clause
        if clause.role == "place" and self._is_joined and following.is_location_alone:
            # "Effusions, moderate on the right and small on the left" are two.
            clause.findings = [MentionDraft(clause.findings[-1].head, [], [])]
            self._drafts += clause.findings
        self._describe_named(phrase, lead)

    def _describe_named(self, phrase: Phrase, lead: set[Kind]) -> None:
        """Say words of what was named last; if nothing was, of what is named next."""
        clause = self._clause
        words = [token for token in phrase.tokens if token.kind != "place"]
        locations = [token for token in phrase.tokens if token.kind == "place"]
        if any(word.kind == "normal" for word in words):
            self._speak_of_topic()
        is_predicate = "copula" in lead
        names_part = bool(clause.open_parts or clause.described_parts)
        if names_part and clause.role in ("part", "words"):
            self._describe_parts(words, locations)
        elif is_predicate and clause.findings:
            # "Effusion and atelectasis are unchanged" is said of both.
            _describe(clause.findings, words, locations)
            clause.role = "words"
        elif clause.role in ("finding", "place", "words") and clause.findings:
            _describe(clause.findings[-1:], words, locations)
        else:
            self._pending = self._pending + words

    def _describe_parts(
        self, words: list[TaggedToken], locations: list[TaggedToken]
    ) -> None:
        clause = self._clause
        if not clause.open_parts:
            _describe(clause.described_parts, words, locations)
            return
        _describe(clause.open_parts, words, locations)
        if says_state(words) or any(word.code in COURSES for word in words):
            clause.described_parts = clause.open_parts
            clause.open_parts = []
        clause.role = "words"

    def _speak_of_topic(self) -> None:
        """Make the location of a finding the subject, where there is no other.

        "The lungs are hyperinflated but clear": the lungs are clear.
        """
        clause = self._clause
        parts = [token for token in clause.topic if token.kind == "anatomy"]
        if parts and not clause.open_parts and not clause.described_parts:
            part = MentionDraft.of_part(parts[-1], clause.topic, [])
            self._drafts.append(part)
            clause.open_parts = [part]
            clause.role = "part"


def _describe(
    drafts: list[MentionDraft],
    words: list[TaggedToken],
    locations: Sequence[TaggedToken] = (),
) -> None:
    for draft in drafts:
        if draft.is_finding:
            for word in words:
                read_as_course(word)
        draft.modifiers = draft.modifiers + words
        draft.locations = [*draft.locations, *locations]


def _is_location_word(token: TaggedToken) -> bool:
    return token.kind in ("anatomy", "place", "preposition")


def _needs_location(finding: MentionDraft) -> bool:
    is_everywhere = finding.head.name in WORDS["everywhere"]
    return not (finding.all_locations or finding.is_device or is_everywhere)


def _is_skeletal(finding: MentionDraft, *, is_of_bones: bool) -> bool:
    return is_of_bones and finding.head.name in WORDS["skeletal"]


def _share_location(before: MentionDraft, drafts: list[MentionDraft]) -> None:
    """ "Left basal atelectasis or pneumonia": alternatives lie at one location."""
    for draft in drafts:
        # "No right mass or fracture" denies every fracture.
        are_both_denied = bool(draft.head.negation and before.head.negation)
        if not are_both_denied:
            draft.locations = draft.locations or before.locations


def _locate_at_broken_device(finding: MentionDraft, before: MentionDraft) -> None:
    """ "The wire is fractured"."""
    if finding.head.name == "fracture" and before.is_device:
        finding.locations = [*finding.locations, *before.locations, before.head]


def _limits_the_view(word: TaggedToken) -> bool:
    """ "Given patient rotation", but not "the left base cannot be assessed"."""
    is_not_assessed = word.cue is not None and word.cue.category == "limitation"
    return word.code == LIMITATION.code and not is_not_assessed


def _link_open_causes(drafts: list[MentionDraft]) -> None:
    """Make what is left open explain the sign before it.

    "Basal opacity, pneumonia cannot be excluded".
    """
    sign: MentionDraft | None = None
    for draft in drafts:
        head = draft.head
        is_cause = head.is_hedged and head.name in WORDS["causes_of_signs"]
        if sign is not None and is_cause and _stands_alone(draft):
            draft.signs = [sign]
        elif head.name in WORDS["explained_signs"]:
            is_there_now = not head.negation and head.past is None
            sign = draft if is_there_now else None
        elif not is_cause and head.code != "PATIENT INFO.":
            sign = None  # Something else is spoken of.


def _stands_alone(draft: MentionDraft) -> bool:
    """Whether it is not denied, and has neither location nor sign of its own."""
    return not (draft.head.negation or draft.signs or draft.all_locations)
