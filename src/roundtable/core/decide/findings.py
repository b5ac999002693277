"""Findings of a review: pooled over the seats, given a status by their proofs, and weighed by a judge or by severity.

No seat votes on a finding: a program reproduces or refutes it. The weight says whether a finding must be fixed, is only
reported, or is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from roundtable.core.effects import ClaimsProven, Proof
from roundtable.core.reasons import FindingRepair, FindingsUnfixed
from roundtable.core.text.wording import distinctive_words_of_text, text_slug_similarity
from roundtable.core.values import Round
from roundtable.core.verdict import SEVERITIES, Findings, Issue

_MIN_SIMILARITY_IN_FILE, _MIN_SIMILARITY_AT_LINES = 0.6, 0.25
"""The similarity of words that makes two findings the same: about one file, and about overlapping lines of it."""

_SPECIFICS = (
    re.compile(r"(?<!\w)-?\d+(?:\.\d+)*|\b(?:True|False|None|null)\b"),
    re.compile(r"(?<!\w)(?:'[^']*'|\"[^\"]*\")(?!\w)"),
    re.compile(r"\w+(?=\()|(?<=`)\w+(?=`)"),
    re.compile(r"\b(?:\w*[a-z]_\w+|\w*[a-z][A-Z]\w*)\b(?!\()"),
)
"""Patterns of numbers, literals, called functions and other names: if these differ, similar texts are two findings."""

_LINE_REFERENCE = re.compile(r"\b(?:lines?|l\.)\s*\d+(?:\s*[-–]\s*\d+)?|:\d+(?:-\d+)?", re.IGNORECASE)
"""A line reference in a sentence. It is removed first: its numbers say where a problem is, not which problem it is."""

_CODE_PLACE = re.compile(r"(.+?)(?::(\d{1,7})(?:\s*[-–]\s*(\d{1,7}))?)?(?::\d+)?")


class CodePlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """The place of a finding: a file and a range of lines; line 0 means the whole file."""

    path: str = ""
    first: int = 0
    last: int = 0

    @property
    def words(self) -> str:
        """The place as people write it, such as `src/a.py:10-14`."""
        lines = f":{self.first}" + (f"-{self.last}" if self.last > self.first else "") if self.first else ""
        return f"{self.path}{lines}"

    @classmethod
    def parse(cls, location: str) -> CodePlace:
        """Read a place such as `src/a.py:10-14`; `./` and quotation marks around it are ignored."""
        match = _CODE_PLACE.fullmatch(location.strip().strip("`'\"").removeprefix("./"))
        if match is None:
            return cls()
        first = int(match[2] or 0)
        return cls(match[1].strip(), first, max(first, int(match[3] or 0)))


class FindingStatus(StrEnum):
    """The status of a finding after its proofs ran, the worst first."""

    REPRODUCED = "reproduced"
    UNPROVEN = "unproven"
    OLD = "old"
    REFUTED = "refuted"


class FindingReport(msgspec.Struct, frozen=True):
    """A finding as one seat reported it in one round."""

    seat: str
    issue: Issue
    round: str = ""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One problem, as one or several seats reported it; its text is that of the first report."""

    id: str
    said: tuple[FindingReport, ...]

    @property
    def text(self) -> str:
        """The problem in one sentence."""
        return self.said[0].issue.text

    @property
    def seats(self) -> tuple[str, ...]:
        """The seats that reported the problem."""
        return tuple(dict.fromkeys(report.seat for report in self.said))

    @property
    def severity(self) -> str:
        """The worst severity that a seat gave the problem."""
        return min((report.issue.severity for report in self.said), key=_severity_rank)

    @property
    def place(self) -> CodePlace:
        """The place in the first report that names one."""
        return next(
            (place for report in self.said if (place := CodePlace.parse(report.issue.location)).path), CodePlace()
        )

    @property
    def words(self) -> str:
        """The severity, place and text of the finding, such as `[high, src/a.py:3] The index is off by one.`"""
        where = f"{self.severity}, {self.place.words}" if self.place.path else self.severity
        return f"[{where}] {self.text}"

    @property
    def in_full(self) -> str:
        """The severity, place and text, followed by the differing texts of all seats."""
        return "\n".join(
            (self.words, *dict.fromkeys(report.issue.text for report in self.said if report.issue.text != self.text))
        )

    @property
    def line(self) -> str:
        """The finding in one line, with its id."""
        return f"{self.id} {self.words}"


class ProofResult(StrEnum):
    """The result of running the programs of a finding."""

    SHOWN = "shown"
    SHOWN_BEFORE_CHANGE = "shown_before_change"
    NOT_FOUND = "not_found"
    NOT_RUN = "not_run"
    OTHER_WORDING_LEFT = "other_wording_left"
    NO_PROGRAM = "no_program"


class FindingEvidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of running the programs of `seats`.

    `others` are the seats that reported the same finding in words that no program refuted. `message` says why a program
    could not be run.
    """

    result: ProofResult
    seats: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    message: str = ""


class WeighedFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A finding with its status (`standing`), the result of its proofs, and the proofs that decided the status (`by`).

    `nowhere` is the message of the workshop if the place of the finding does not exist.
    """

    finding: Finding
    standing: FindingStatus
    evidence: FindingEvidence
    by: tuple[Proof, ...] = ()
    nowhere: str = ""


def decide_pooled_findings(*rounds: Round) -> tuple[Finding, ...]:
    """The findings of all seats without duplicates, sorted by severity, file and line, with the ids F1, F2 …

    Two issues that one seat lists in the same round stay two findings unless their words are the same, because the seat
    distinguished them. Issues of different rounds can be the same finding.
    """
    groups: list[list[FindingReport]] = []
    moves = [move for round in rounds for move in round.moves if move.verdict.counts]
    for report in (FindingReport(move.seat, issue, move.round) for move in moves for issue in move.verdict.issues):
        group = next((group for group in groups if _belongs_to_group(report, group)), None)
        (group.append(report) if group is not None else groups.append([report]))
    findings = sorted((Finding("", tuple(group)) for group in groups), key=_sort_key)
    return tuple(msgspec.structs.replace(finding, id=f"F{number}") for number, finding in enumerate(findings, 1))


def weigh_findings_by_proof(findings: Sequence[Finding], results: Sequence[ClaimsProven]) -> tuple[WeighedFinding, ...]:
    """Each finding with the status that follows from its proofs.

    One program that shows the problem reproduces the finding. A program that does not find the problem refutes only the
    report it was written for, and only if no other program shows the problem. A problem that the program also shows
    before the change is old.
    """
    proofs = [proof for result in results for proof in result.proofs]
    nowhere = {place: why for result in results for place, why in result.nowhere.items()}
    return tuple(
        _weigh_finding(finding, [proof for proof in proofs if _is_proof_of(proof, finding)], nowhere)
        for finding in findings
    )


def decide_unproven_findings(found: Sequence[WeighedFinding]) -> tuple[Finding, ...]:
    """The findings that were neither reproduced nor refuted."""
    return tuple(finding.finding for finding in found if finding.standing is FindingStatus.UNPROVEN)


def keep_deciding_proofs_of_finding(found: WeighedFinding) -> Finding:
    """A finding with only the reports whose programs decided its status."""
    proven_claims = {(proof.seat, proof.claim) for proof in found.by}
    reports = tuple(report for report in found.finding.said if (report.seat, report.issue.text) in proven_claims)
    return msgspec.structs.replace(found.finding, said=reports)


def _weigh_finding(finding: Finding, proofs: Sequence[Proof], nowhere: Mapping[str, str]) -> WeighedFinding:
    """A finding with the status that follows from its proofs; its text is that of an unrefuted report, if any."""
    refuted_claims = {proof.claim for proof in proofs if proof.held is False}
    unrefuted: tuple[FindingReport, ...] = ()
    if finding.id not in refuted_claims:
        unrefuted = tuple(report for report in finding.said if report.issue.text not in refuted_claims)
    refuted = (report for report in finding.said if report not in unrefuted)
    reordered = msgspec.structs.replace(finding, said=(*unrefuted, *refuted))
    return WeighedFinding(reordered, *_status_by_proofs(proofs, unrefuted), nowhere=_missing_place(finding, nowhere))


def _status_by_proofs(
    proofs: Sequence[Proof], unrefuted: Sequence[FindingReport]
) -> tuple[FindingStatus, FindingEvidence, tuple[Proof, ...]]:
    """The status of a finding, the evidence for it, and the proofs that decided it."""
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


def _is_proof_of(proof: Proof, finding: Finding) -> bool:
    """Whether the claim of a proof is the id of a finding, or the text of a report by the same seat."""
    reported = {(report.seat, report.issue.text) for report in finding.said}
    return proof.claim == finding.id or (proof.seat, proof.claim) in reported


def _missing_place(finding: Finding, nowhere: Mapping[str, str]) -> str:
    """The message that the place of a finding does not exist; empty if any of its reports names one that does."""
    locations = [report.issue.location for report in finding.said]
    messages = [nowhere[location] for location in locations if location in nowhere]
    return messages[0] if messages and len(messages) == len(locations) else ""


def _belongs_to_group(report: FindingReport, group: Sequence[FindingReport]) -> bool:
    """Whether a report is about the same problem as a group; reports of the same answer are compared first."""
    same_answer = [other for other in group if _is_same_answer(report, other)]
    return any(_is_same_problem(report, other) for other in same_answer or group)


def _is_same_answer(one: FindingReport, other: FindingReport) -> bool:
    """Whether one seat made both reports in one answer."""
    return (one.seat, one.round) == (other.seat, other.round)


def _is_same_problem(one: FindingReport, other: FindingReport) -> bool:
    """Whether two reports are about the same problem, by their words and places."""
    if _has_different_specifics(one.issue.text, other.issue.text):
        return False
    here, there = CodePlace.parse(one.issue.location), CodePlace.parse(other.issue.location)
    words, others = (distinctive_words_of_text(report.issue.text) for report in (one, other))
    if _is_same_answer(one, other):
        return words == others and here == there
    similar = text_slug_similarity("-".join(words), "-".join(others)) >= _MIN_SIMILARITY_IN_FILE
    if here.path != there.path:
        if not (here.path and there.path):
            return words == others
        return similar and (there.path in one.issue.text or here.path in other.issue.text)
    if similar:
        return True
    overlapping = bool(here.first) and here.first <= there.last and there.first <= here.last
    return overlapping and len({*words} & {*others}) >= _MIN_SIMILARITY_AT_LINES * len({*words, *others})


def _has_different_specifics(one: str, other: str) -> bool:
    """Whether each of two sentences names a number, literal or name that the other lacks.

    If one sentence names only some specifics of the other, both may mean the same problem.
    """
    one, other = (_LINE_REFERENCE.sub("", text) for text in (one, other))
    specifics = [({*pattern.findall(one)}, {*pattern.findall(other)}) for pattern in _SPECIFICS]
    return any(first and second and not (first <= second or second <= first) for first, second in specifics)


def _sort_key(finding: Finding) -> tuple[int, str, int, str]:
    return _severity_rank(finding.severity), finding.place.path, finding.place.first, finding.text


def _severity_rank(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


_NO_FINDINGS = re.compile(
    r"\W*(?:there (?:is|are|was|were) )?(?:none|nothing|no (?:\w+ ){0,2}(?:finding|issue|problem|fault|bug)s?)"
    r"(?: (?:is|are|was|were|critical|found|here|left|to report|to fix))*\W*$",
    re.IGNORECASE,
)
"""An item that only says that there are no findings of this kind, such as `No critical issues found.`"""

_FINDING_ID = re.compile(r"\bF\d+\b")
_LEADING_IDS = re.compile(r"\W*((?:F\d+\W{0,3}(?:and\W+)?)+)")
_CRITICAL_SEVERITIES = ("critical", "high")


class FindingWeight(StrEnum):
    """The weight of a finding; the values are the headings that a judge uses."""

    CRITICAL = "CRITICAL"
    WARNING = "WARNINGS"
    CLEAN = "CONFIRMED_CLEAN"


class RuledFindings(msgspec.Struct, frozen=True):
    """The weight of each finding, and the items of the judge about no known finding, by weight (`besides`)."""

    weights: dict[str, FindingWeight]
    besides: dict[FindingWeight, tuple[str, ...]] = {}

    def weighing(self, weight: FindingWeight, found: Sequence[WeighedFinding]) -> list[WeighedFinding]:
        """The findings of one weight."""
        return [finding for finding in found if self.weights[finding.finding.id] is weight]


def rule_findings_by_severity(found: Sequence[WeighedFinding]) -> RuledFindings:
    """Weigh findings by the severity that seats gave: critical and high must be fixed unless a program refuted them."""
    return RuledFindings({weighed.finding.id: _weight_by_severity(weighed) for weighed in found})


def rule_findings_by_judge(found: Sequence[WeighedFinding], said: Findings) -> RuledFindings:
    """Weigh findings as the judge listed them; findings that the judge does not name are weighed by severity.

    The judge cannot overrule a program. A finding that the judge lists under two headings gets the worse weight.
    """
    items_by_weight = {
        FindingWeight.CRITICAL: said.critical,
        FindingWeight.WARNING: said.warnings,
        FindingWeight.CLEAN: said.clean,
    }
    named = {weight: [_findings_of_item(item, found) for item in items] for weight, items in items_by_weight.items()}
    weights = {weighed.finding.id: _weight_by_judge(weighed, named) for weighed in found}
    other_items = {
        weight: tuple(
            item for item, ids in zip(items, named[weight], strict=True) if not ids and not _NO_FINDINGS.match(item)
        )
        for weight, items in items_by_weight.items()
    }
    return RuledFindings(weights, other_items)


def decide_unfixed_findings(
    ruled: RuledFindings, found: Sequence[WeighedFinding], repairs: Mapping[str, FindingRepair]
) -> FindingsUnfixed | None:
    """The critical findings that are not fixed, with the reason for each; None if all are fixed."""
    critical = [weighed.finding.id for weighed in ruled.weighing(FindingWeight.CRITICAL, found)]
    critical_repairs = {id: repairs.get(id, FindingRepair(fixed=False)) for id in critical}
    unfixed = {id: repair for id, repair in critical_repairs.items() if not repair.fixed}
    other_items = ruled.besides.get(FindingWeight.CRITICAL, ())
    return FindingsUnfixed(unfixed, other_items) if unfixed or other_items else None


def _weight_by_severity(weighed: WeighedFinding) -> FindingWeight:
    if weighed.standing is FindingStatus.REFUTED:
        return FindingWeight.CLEAN
    is_critical = weighed.finding.severity in _CRITICAL_SEVERITIES
    return FindingWeight.CRITICAL if is_critical else FindingWeight.WARNING


def _weight_by_judge(weighed: WeighedFinding, named: Mapping[FindingWeight, Sequence[Sequence[str]]]) -> FindingWeight:
    """The worst weight under which the judge names a finding, unless a program or the judge's silence decides."""
    if weighed.standing is FindingStatus.REFUTED:
        return FindingWeight.CLEAN
    ruled = next((weight for weight in FindingWeight if any(weighed.finding.id in ids for ids in named[weight])), None)
    if ruled is None or (ruled is FindingWeight.CLEAN and weighed.standing is FindingStatus.REPRODUCED):
        return _weight_by_severity(weighed)
    return ruled


def _findings_of_item(item: str, found: Sequence[WeighedFinding]) -> tuple[str, ...]:
    """The ids of the findings that an item of the judge is about.

    These are the ids at its beginning, or else those anywhere in it, or else the findings with similar words.
    """
    known = {weighed.finding.id for weighed in found}
    leading = _LEADING_IDS.match(item)
    ids = tuple(id for id in _FINDING_ID.findall(leading[1] if leading else item) if id in known)
    return ids or tuple(weighed.finding.id for weighed in found if _has_similar_words(item, weighed.finding))


def _has_similar_words(item: str, finding: Finding) -> bool:
    item_words, finding_words = distinctive_words_of_text(item), distinctive_words_of_text(finding.text)
    return text_slug_similarity("-".join(item_words), "-".join(finding_words)) >= _MIN_SIMILARITY_IN_FILE
