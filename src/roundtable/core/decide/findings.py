"""What a review comes to: findings pooled over the seats, and each of them reproduced or refuted, not voted on.

What becomes of findings once a judge has weighed them: to be mended, to be known, or nothing at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from roundtable.core.effects import ClaimsProven, Proof
from roundtable.core.reasons import FindingRepair, FindingsUnfixed
from roundtable.core.text.wording import distinctive_words, slug_similarity
from roundtable.core.values import Round
from roundtable.core.verdict import SEVERITIES, Findings, Issue

ALIKE, NEAR = 0.6, 0.25
"""The share of telling words from which on two findings about one file say the same; and about the same lines of it."""

_PARTICULARS = (
    re.compile(r"(?<!\w)-?\d+(?:\.\d+)*|\b(?:True|False|None|null)\b"),
    re.compile(r"(?<!\w)(?:'[^']*'|\"[^\"]*\")(?!\w)"),
    re.compile(r"\w+(?=\()|(?<=`)\w+(?=`)"),
    re.compile(r"\b(?:\w*[a-z]_\w+|\w*[a-z][A-Z]\w*)\b(?!\()"),
)
"""Numbers, literals, what is called, and other names: what makes sentences of nearly the same words two findings."""

_LINES = re.compile(r"\b(?:lines?|l\.)\s*\d+(?:\s*[-–]\s*\d+)?|:\d+(?:-\d+)?", re.IGNORECASE)
"""Where something is, as sentences say it: no particular of what it is."""

_PLACE = re.compile(r"(.+?)(?::(\d{1,7})(?:\s*[-–]\s*(\d{1,7}))?)?(?::\d+)?")


class CodePlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a finding points: a file and lines of it; line 0 is the file as a whole."""

    path: str = ""
    first: int = 0
    last: int = 0

    @property
    def words(self) -> str:
        """As people write it."""
        lines = f":{self.first}" + (f"-{self.last}" if self.last > self.first else "") if self.first else ""
        return f"{self.path}{lines}"

    @classmethod
    def parse(cls, location: str) -> CodePlace:
        """Read a place such as `src/a.py:10-14`; `./` and quotation marks around it are ignored."""
        match = _PLACE.fullmatch(location.strip().strip("`'\"").removeprefix("./"))
        if match is None:
            return cls()
        first = int(match[2] or 0)
        return cls(match[1].strip(), first, max(first, int(match[3] or 0)))


class FindingStatus(StrEnum):
    """What is known of a finding in the end, the worst first."""

    REPRODUCED = "reproduced"
    UNPROVEN = "unproven"
    OLD = "old"
    REFUTED = "refuted"


class FindingReport(msgspec.Struct, frozen=True):
    """A finding as one seat put it in one round."""

    seat: str
    issue: Issue
    round: str = ""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong, as one seat or several found it; the words of the first are those it goes by."""

    id: str
    said: tuple[FindingReport, ...]

    @property
    def text(self) -> str:
        """What is wrong, in one sentence."""
        return self.said[0].issue.text

    @property
    def seats(self) -> tuple[str, ...]:
        """Who found it."""
        return tuple(dict.fromkeys(report.seat for report in self.said))

    @property
    def severity(self) -> str:
        """The worst that anybody made of it."""
        return min((report.issue.severity for report in self.said), key=_rank)

    @property
    def place(self) -> CodePlace:
        """Where the first who named a place saw it."""
        return next(
            (found for report in self.said if (found := CodePlace.parse(report.issue.location)).path), CodePlace()
        )

    @property
    def words(self) -> str:
        """How bad, where, and what."""
        where = f"{self.severity}, {self.place.words}" if self.place.path else self.severity
        return f"[{where}] {self.text}"

    @property
    def in_full(self) -> str:
        """The same with everybody's words."""
        return "\n".join(
            (self.words, *dict.fromkeys(report.issue.text for report in self.said if report.issue.text != self.text))
        )

    @property
    def line(self) -> str:
        """As it is read out, with its id."""
        return f"{self.id} {self.words}"


class ProofResult(StrEnum):
    """What running the programs of a finding showed."""

    SHOWN = "shown"
    SHOWN_BEFORE_CHANGE = "shown_before_change"
    NOT_FOUND = "not_found"
    NOT_RUN = "not_run"
    OTHER_WORDING_LEFT = "other_wording_left"
    NO_PROGRAM = "no_program"


class FindingEvidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """What running the programs of these seats showed.

    `others` found the same in words that no program refuted; `message` says why a program could not be run.
    """

    result: ProofResult
    seats: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    message: str = ""


class WeighedFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A finding, what running its proofs showed, and the proofs that decided it.

    `nowhere` is the workshop's message if the place of the finding does not exist.
    """

    finding: Finding
    standing: FindingStatus
    evidence: FindingEvidence
    by: tuple[Proof, ...] = ()
    nowhere: str = ""


def pool_findings(*rounds: Round) -> tuple[Finding, ...]:
    """The findings of all seats, each once, by severity, file and line, and numbered in this order: F1, F2 …

    What one seat lists as two things in a round stays two, unless it uses the same words: it should know. In another
    round it may see the same thing from its other end.
    """
    groups: list[list[FindingReport]] = []
    moves = [move for round in rounds for move in round.moves if move.verdict.counts]
    for said in (FindingReport(move.seat, issue, move.round) for move in moves for issue in move.verdict.issues):
        group = next((group for group in groups if _belongs(said, group)), None)
        (group.append(said) if group is not None else groups.append([said]))
    found = sorted((Finding("", tuple(group)) for group in groups), key=_order)
    return tuple(msgspec.structs.replace(it, id=f"F{number}") for number, it in enumerate(found, 1))


def weigh_findings_by_proof(findings: Sequence[Finding], results: Sequence[ClaimsProven]) -> tuple[WeighedFinding, ...]:
    """What each finding came to.

    One program that shows a fault is enough; one that does not find it refutes it only where no other does, and only
    in the words it was written for. What shows before the change as well is not of this change.
    """
    proofs = [proof for result in results for proof in result.proofs]
    nowhere = {place: why for result in results for place, why in result.nowhere.items()}
    return tuple(
        _weighed(finding, [proof for proof in proofs if _about(proof, finding)], nowhere) for finding in findings
    )


def unproven_findings(found: Sequence[WeighedFinding]) -> tuple[Finding, ...]:
    """Those that neither were shown nor refuted."""
    return tuple(finding.finding for finding in found if finding.standing is FindingStatus.UNPROVEN)


def finding_as_proven(found: WeighedFinding) -> Finding:
    """A finding in those words alone that its programs were written for."""
    by = {(proof.seat, proof.claim) for proof in found.by}
    said = tuple(report for report in found.finding.said if (report.seat, report.issue.text) in by)
    return msgspec.structs.replace(found.finding, said=said)


def _weighed(finding: Finding, proofs: Sequence[Proof], nowhere: Mapping[str, str]) -> WeighedFinding:
    """A finding by what its proofs showed; it goes by words that were not refuted, where there are any."""
    refuted = {proof.claim for proof in proofs if proof.held is False}
    left = () if finding.id in refuted else tuple(report for report in finding.said if report.issue.text not in refuted)
    led = msgspec.structs.replace(finding, said=(*left, *(report for report in finding.said if report not in left)))
    return WeighedFinding(led, *_standing(proofs, left), nowhere=_nowhere(finding, nowhere))


def _standing(
    proofs: Sequence[Proof], unrefuted: Sequence[FindingReport]
) -> tuple[FindingStatus, FindingEvidence, tuple[Proof, ...]]:
    shown = tuple(proof for proof in proofs if proof.held)
    new = tuple(proof for proof in shown if not proof.held_before)
    denied = tuple(proof for proof in proofs if proof.held is False)
    failed = tuple(proof for proof in proofs if proof.held is None)
    if new:
        return FindingStatus.REPRODUCED, FindingEvidence(ProofResult.SHOWN, _seats(new)), new
    if shown:
        return FindingStatus.OLD, FindingEvidence(ProofResult.SHOWN_BEFORE_CHANGE, _seats(shown)), shown
    if denied and not unrefuted:
        return FindingStatus.REFUTED, FindingEvidence(ProofResult.NOT_FOUND, _seats(denied)), denied
    if failed:
        evidence = FindingEvidence(ProofResult.NOT_RUN, _seats(failed), message=failed[-1].why)
        return FindingStatus.UNPROVEN, evidence, failed
    if denied:
        evidence = FindingEvidence(ProofResult.OTHER_WORDING_LEFT, _seats(denied), _seats(unrefuted))
        return FindingStatus.UNPROVEN, evidence, ()
    return FindingStatus.UNPROVEN, FindingEvidence(ProofResult.NO_PROGRAM), ()


def _seats(items: Iterable[Proof | FindingReport]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.seat for item in items))


def _about(proof: Proof, finding: Finding) -> bool:
    """A proof names a finding by its id, or is of one who found it and in its words."""
    own = {(report.seat, report.issue.text) for report in finding.said}
    return proof.claim == finding.id or (proof.seat, proof.claim) in own


def _nowhere(finding: Finding, nowhere: Mapping[str, str]) -> str:
    """Why its place is not there, unless somebody named another one that is."""
    named = [report.issue.location for report in finding.said]
    missing = [nowhere[location] for location in named if location in nowhere]
    return missing[0] if missing and len(missing) == len(named) else ""


def _belongs(said: FindingReport, group: Sequence[FindingReport]) -> bool:
    own = [other for other in group if _at_once(said, other)]
    return any(_same(said, other) for other in own or group)


def _at_once(one: FindingReport, other: FindingReport) -> bool:
    """Whether one seat said both in one answer."""
    return (one.seat, one.round) == (other.seat, other.round)


def _same(one: FindingReport, other: FindingReport) -> bool:
    if _differ(one.issue.text, other.issue.text):
        return False
    here, there = CodePlace.parse(one.issue.location), CodePlace.parse(other.issue.location)
    words, others = (distinctive_words(report.issue.text) for report in (one, other))
    if _at_once(one, other):
        return words == others and here == there
    alike = slug_similarity("-".join(words), "-".join(others)) >= ALIKE
    if here.path != there.path:
        if not (here.path and there.path):
            return words == others
        return alike and (there.path in one.issue.text or here.path in other.issue.text)
    if alike:
        return True
    overlapping = bool(here.first) and here.first <= there.last and there.first <= here.last
    return overlapping and len({*words} & {*others}) >= NEAR * len({*words, *others})


def _differ(one: str, other: str) -> bool:
    """Whether two sentences name different particulars; one that names fewer than the other may still mean the same."""
    one, other = (_LINES.sub("", text) for text in (one, other))
    found = [({*pattern.findall(one)}, {*pattern.findall(other)}) for pattern in _PARTICULARS]
    return any(these and those and not (these <= those or those <= these) for these, those in found)


def _order(finding: Finding) -> tuple[int, str, int, str]:
    return _rank(finding.severity), finding.place.path, finding.place.first, finding.text


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


_NONE = re.compile(
    r"\W*(?:there (?:is|are|was|were) )?(?:none|nothing|no (?:\w+ ){0,2}(?:finding|issue|problem|fault|bug)s?)"
    r"(?: (?:is|are|was|were|critical|found|here|left|to report|to fix))*\W*$",
    re.IGNORECASE,
)
"""That there is nothing of the kind, in as many words."""
_ID = re.compile(r"\bF\d+\b")
_LEADING = re.compile(r"\W*((?:F\d+\W{0,3}(?:and\W+)?)+)")
_GRAVE = ("critical", "high")


class FindingWeight(StrEnum):
    """What a finding weighs, under the words a judge uses."""

    CRITICAL = "CRITICAL"
    WARNING = "WARNINGS"
    CLEAN = "CONFIRMED_CLEAN"


class RuledFindings(msgspec.Struct, frozen=True):
    """The findings by what they weigh, and what the judge said under each that is about none of them."""

    weights: dict[str, FindingWeight]
    besides: dict[FindingWeight, tuple[str, ...]] = {}

    def weighing(self, weight: FindingWeight, found: Sequence[WeighedFinding]) -> list[WeighedFinding]:
        """Those of one weight."""
        return [finding for finding in found if self.weights[finding.finding.id] is weight]


def rule_findings_by_severity(found: Sequence[WeighedFinding]) -> RuledFindings:
    """As the seats see it themselves: what is critical or high must be mended, unless a program refuted it."""
    return RuledFindings({finding.finding.id: _own(finding) for finding in found})


def rule_findings_by_judge(found: Sequence[WeighedFinding], said: Findings) -> RuledFindings:
    """As the judge sees it; what it does not name weighs what the seats made of it, and no program is overruled.

    A finding under two heads counts under the worse.
    """
    under = {
        FindingWeight.CRITICAL: said.critical,
        FindingWeight.WARNING: said.warnings,
        FindingWeight.CLEAN: said.clean,
    }
    named = {weight: [_named(item, found) for item in items] for weight, items in under.items()}
    weights = {finding.finding.id: _weight(finding, named) for finding in found}
    besides = {
        weight: tuple(item for item, ids in zip(items, named[weight], strict=True) if not ids and not _NONE.match(item))
        for weight, items in under.items()
    }
    return RuledFindings(weights, besides)


def find_unfixed_findings(
    ruled: RuledFindings, found: Sequence[WeighedFinding], repairs: Mapping[str, FindingRepair]
) -> FindingsUnfixed | None:
    """The critical findings that are not fixed, with the reason for each, if there are any."""
    critical = [weighed.finding.id for weighed in ruled.weighing(FindingWeight.CRITICAL, found)]
    left = {id: repairs.get(id, FindingRepair(fixed=False)) for id in critical}
    left = {id: repair for id, repair in left.items() if not repair.fixed}
    others = ruled.besides.get(FindingWeight.CRITICAL, ())
    return FindingsUnfixed(left, others) if left or others else None


def _own(found: WeighedFinding) -> FindingWeight:
    if found.standing is FindingStatus.REFUTED:
        return FindingWeight.CLEAN
    return FindingWeight.CRITICAL if found.finding.severity in _GRAVE else FindingWeight.WARNING


def _weight(found: WeighedFinding, named: Mapping[FindingWeight, Sequence[Sequence[str]]]) -> FindingWeight:
    if found.standing is FindingStatus.REFUTED:
        return FindingWeight.CLEAN
    said = next((weight for weight in FindingWeight if any(found.finding.id in ids for ids in named[weight])), None)
    if said is None or (said is FindingWeight.CLEAN and found.standing is FindingStatus.REPRODUCED):
        return _own(found)
    return said


def _named(item: str, found: Sequence[WeighedFinding]) -> tuple[str, ...]:
    """The findings that something a judge said is about: those it begins with, else names, else has the words of."""
    known = {finding.finding.id for finding in found}
    leading = _LEADING.match(item)
    ids = tuple(id for id in _ID.findall(leading[1] if leading else item) if id in known)
    return ids or tuple(finding.finding.id for finding in found if _alike(item, finding.finding))


def _alike(item: str, finding: Finding) -> bool:
    return slug_similarity("-".join(distinctive_words(item)), "-".join(distinctive_words(finding.text))) >= ALIKE
