"""Findings of a review in words: what running their programs showed, how they were weighed, and the whole review."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent

import msgspec

from roundtable.core.decide.findings import (
    FindingEvidence,
    FindingStatus,
    FindingWeight,
    ProofResult,
    RuledFindings,
    WeighedFinding,
)
from roundtable.core.reasons import FindingRepair
from roundtable.core.text.wording import fence_code_as_markdown, join_names_as_text
from roundtable.core.values import Decision
from roundtable.report.stage_notices import finding_repair_sentence

_HEADS = {
    FindingStatus.REPRODUCED: "Reproduced:",
    FindingStatus.UNPROVEN: "Unproven:",
    FindingStatus.OLD: "Older than the change:",
    FindingStatus.REFUTED: "Refuted:",
}


def finding_evidence_sentence(evidence: FindingEvidence) -> str:
    """The result of running the programs of a finding, as a sentence."""
    program = f"program of {join_names_as_text(evidence.seats)}"
    match evidence.result:
        case ProofResult.SHOWN:
            return f"A {program} reproduces the fault."
        case ProofResult.SHOWN_BEFORE_CHANGE:
            return f"A {program} reproduces the fault both with and without the change."
        case ProofResult.NOT_FOUND:
            return f"A {program} tested for the fault and did not find it."
        case ProofResult.NOT_RUN:
            return f"The {program} could not be run: {evidence.message}"
        case ProofResult.OTHER_WORDING_LEFT:
            seats, others = join_names_as_text(evidence.seats), join_names_as_text(evidence.others)
            return f"A program refutes the fault as {seats} described it, but not as {others} described it."
        case ProofResult.NO_PROGRAM:
            return "No seat wrote a program that reproduces the fault."


def render_ruled_findings(
    ruled: RuledFindings, found: Sequence[WeighedFinding], repairs: Mapping[str, FindingRepair]
) -> str:
    """All findings by weight, and whether they were fixed."""
    sections: list[str] = []
    for weight in FindingWeight:
        lines = [*_weighed_lines(ruled.weighing(weight, found), repairs), *ruled.besides.get(weight, ())]
        sections += ["\n".join((f"{weight}:", *(f"- {line}" for line in lines)))] if lines else []
    return "\n\n".join(sections)


def _weighed_lines(found: Sequence[WeighedFinding], repairs: Mapping[str, FindingRepair]) -> Iterator[str]:
    for weighed in found:
        repair = repairs.get(weighed.finding.id)
        yield f"{weighed.finding.line} {finding_repair_sentence(repair)}" if repair else weighed.finding.line


def render_review_decision_text(decision: Decision, found: Sequence[WeighedFinding]) -> Decision:
    """The decision of a review with its position in one sentence and all findings as its text."""
    clean = _no_findings_sentence(decision)
    sections = "\n\n".join(_review_sections(found))
    return msgspec.structs.replace(decision, position=_review_position(found) or clean, text=sections or clean)


def _review_position(found: Sequence[WeighedFinding]) -> str:
    reproduced = sum(weighed.standing is FindingStatus.REPRODUCED for weighed in found)
    if reproduced:
        return f"Changes needed: {'1 fault was' if reproduced == 1 else f'{reproduced} faults were'} reproduced."
    return "No fault was reproduced." if found else ""


def _no_findings_sentence(decision: Decision) -> str:
    """A sentence that no seat found a fault, with the seats that did not answer."""
    if not decision.missing:
        return "No seat found a fault."
    absent = join_names_as_text(tuple(absence.seat for absence in decision.missing))
    return f"{join_names_as_text(decision.counted)} found no fault; {absent} did not answer."


def _review_sections(found: Sequence[WeighedFinding]) -> Iterator[str]:
    for status in FindingStatus:
        lines = ["\n".join(_finding_lines(weighed)) for weighed in found if weighed.standing is status]
        if lines:
            yield "\n".join((_HEADS[status], "", *lines))


def _finding_lines(weighed: WeighedFinding) -> Iterator[str]:
    """A finding with its seats, what running showed, and the program that reproduces it."""
    yield f"- {weighed.finding.line}"
    nowhere = f" Its place does not exist: {weighed.nowhere}" if weighed.nowhere else ""
    seats = join_names_as_text(weighed.finding.seats)
    yield f"  Found by {seats}. {finding_evidence_sentence(weighed.evidence)}{nowhere}"
    first = weighed.finding.text
    yield from (
        f"  {report.seat}: {report.issue.text}" for report in weighed.finding.said if report.issue.text != first
    )
    if weighed.standing is FindingStatus.REPRODUCED:
        yield indent(fence_code_as_markdown(weighed.by[0].program), "  ")
