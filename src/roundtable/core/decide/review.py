"""The decision of a review: a reproduced finding rejects the changes, and every finding is a proposal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roundtable.core.decide.findings import FindingStatus, WeighedFinding, decide_unproven_findings
from roundtable.core.decide.positions import UNREADABLE_ANSWER
from roundtable.core.reasons import FindingsReviewed, FindingsUnproven, NotHeardInRound, ProofsNotRun, Reason
from roundtable.core.values import Absence, Decision, Outcome, Proposal, Round


def decide_review(found: Sequence[WeighedFinding], rounds: Sequence[Round], place: str, lacking: str = "") -> Decision:
    """Return the decision of a review, without its text.

    `place` is the sandbox in which proofs ran; `lacking` is the reason why they could not run.
    """
    blind, *later = rounds
    counted = tuple(move.seat for move in blind.moves if move.verdict.counts)
    reproduced = any(weighed.standing is FindingStatus.REPRODUCED for weighed in found)
    statuses = {status.value: sum(weighed.standing is status for weighed in found) for status in FindingStatus}
    statuses = {status: count for status, count in statuses.items() if count}
    return Decision(
        Outcome.REJECTED if reproduced else Outcome.REACHED,
        how=(FindingsReviewed(len(counted), statuses, place),),
        electorate=blind.electorate,
        counted=counted,
        missing=_missing(blind),
        proposals=tuple(
            Proposal(weighed.finding.id, weighed.finding.words, weighed.finding.seats) for weighed in found
        ),
        basis=tuple(round.name for round in rounds),
        notices=(*_notices(found, lacking), *map(_not_heard_reason, filter(_missing, later))),
    )


def _missing(round: Round) -> tuple[Absence, ...]:
    """The seats that did not answer, and those whose answer could not be read."""
    unreadable = (Absence(move.seat, UNREADABLE_ANSWER) for move in round.moves if not move.verdict.counts)
    return (*round.missing, *unreadable)


def _not_heard_reason(round: Round) -> NotHeardInRound:
    return NotHeardInRound(round.name, {absence.seat: absence.fault for absence in _missing(round)})


def _notices(found: Sequence[WeighedFinding], lacking: str) -> Iterator[Reason]:
    if lacking:
        yield ProofsNotRun(lacking)
    elif ids := tuple(finding.id for finding in decide_unproven_findings(found)):
        yield FindingsUnproven(ids)
