"""The decision of a review: what was reproduced stands against the changes, and everything found is listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import indent

from roundtable.core.decide.findings import FindingStatus, WeighedFinding, unproven_findings
from roundtable.core.decide.positions import UNREADABLE_ANSWER
from roundtable.core.reasons import FindingsReviewed, FindingsUnproven, NotHeardInRound, ProofsNotRun, Reason
from roundtable.core.text.wording import fence_code, join_names
from roundtable.core.values import Absence, Decision, Outcome, Proposal, Round

_HEADS = {
    FindingStatus.REPRODUCED: "Reproduced:",
    FindingStatus.UNPROVEN: "Unproven:",
    FindingStatus.OLD: "Older than the change:",
    FindingStatus.REFUTED: "Refuted:",
}


def decide_review(found: Sequence[WeighedFinding], rounds: Sequence[Round], place: str, lacking: str = "") -> Decision:
    """Rejected where any finding was reproduced. `place` is where proofs ran; `lacking` is why they could not."""
    blind, *later = rounds
    counted = tuple(move.seat for move in blind.moves if move.verdict.counts)
    missing = _unheard(blind)
    shown = [finding for finding in found if finding.standing is FindingStatus.REPRODUCED]
    return Decision(
        Outcome.REJECTED if shown else Outcome.REACHED,
        how=(_how(found, counted, place),),
        position=_position(found, shown) or _clean(counted, missing),
        text="\n\n".join(_sections(found)) or _clean(counted, missing),
        electorate=blind.electorate,
        counted=counted,
        missing=missing,
        proposals=tuple(
            Proposal(finding.finding.id, finding.finding.words, finding.finding.seats) for finding in found
        ),
        basis=tuple(round.name for round in rounds),
        notices=(*_notices(found, lacking), *(_not_there(round) for round in later if _unheard(round))),
    )


def _unheard(round: Round) -> tuple[Absence, ...]:
    """Who did not answer, and whose answer nobody could read."""
    return (*round.missing, *(Absence(move.seat, UNREADABLE_ANSWER) for move in round.moves if not move.verdict.counts))


def _not_there(round: Round) -> Reason:
    return NotHeardInRound(round.name, {absence.seat: absence.fault for absence in _unheard(round)})


def _how(found: Sequence[WeighedFinding], counted: Sequence[str], place: str) -> Reason:
    counts = {status.value: sum(weighed.standing is status for weighed in found) for status in FindingStatus}
    return FindingsReviewed(len(counted), {status: count for status, count in counts.items() if count}, place)


def _position(found: Sequence[WeighedFinding], shown: Sequence[WeighedFinding]) -> str:
    if shown:
        return f"Not as it is: {_things(len(shown))} {'was' if len(shown) == 1 else 'were'} reproduced."
    return "Nothing was shown against it." if found else ""


def _clean(counted: Sequence[str], missing: Sequence[Absence]) -> str:
    """A clean bill is only worth what was heard."""
    if not missing:
        return "No seat found anything wrong."
    absent = join_names(tuple(absence.seat for absence in missing))
    return f"{join_names(counted)} found nothing wrong; {absent} {'was' if len(missing) == 1 else 'were'} not heard."


def _things(count: int) -> str:
    return {0: "nothing", 1: "one fault"}.get(count, f"{count} faults")


def _sections(found: Sequence[WeighedFinding]) -> Iterator[str]:
    for standing in FindingStatus:
        lines = ["\n".join(_lines(finding)) for finding in found if finding.standing is standing]
        if lines:
            yield "\n".join((_HEADS[standing], "", *lines))


def _lines(it: WeighedFinding) -> Iterator[str]:
    """A finding: how bad, where and what; who found it, what running showed; and the program that shows it."""
    yield f"- {it.finding.line}"
    nowhere = f" It points nowhere: {it.nowhere}" if it.nowhere else ""
    yield f"  Found by {join_names(it.finding.seats)}. {it.why}{nowhere}"
    first = it.finding.text
    yield from (f"  {said.seat}: {said.issue.text}" for said in it.finding.said if said.issue.text != first)
    if it.standing is FindingStatus.REPRODUCED:
        yield indent(fence_code(it.by[0].program), "  ")


def _notices(found: Sequence[WeighedFinding], lacking: str) -> Iterator[Reason]:
    if lacking:
        yield ProofsNotRun(lacking)
    elif names := [finding.id for finding in unproven_findings(found)]:
        yield FindingsUnproven(tuple(names))
