"""Second opinions: whether the seats disagree, why a follow-up is needed, and the decision, which quotes every seat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from roundtable.core.decide import positions
from roundtable.core.decide.decision import decision_dissent_from_move
from roundtable.core.decide.positions import OPPOSED, SAME, CouncilStanding, PositionRatings, normalize_counted_position
from roundtable.core.decide.ruling import verdicts_counted_in_decision
from roundtable.core.reasons import OpinionsAgree, OpinionsDiffer, RisksOpen
from roundtable.core.text.wording import join_names_as_text
from roundtable.core.values import Decision, Outcome, Proposal, Round
from roundtable.core.verdict import Stance, Verdict

FollowUpReason = Literal["", "disagreement", "recommendation_gap", "risk"]

_WORDS = {Stance.SUPPORT: " (yes)", Stance.OPPOSE: " (no)", Stance.AMEND: " (it depends)"}


def vote_ratings_from_stances(first: Round, labels: dict[str, str]) -> PositionRatings:
    """Return the seats' ratings of each other's answers, from their yes and no; empty if these do not tell enough.

    Answers with yes and with no are opposed. Two differently worded answers with yes need not agree, because the
    question may offer two alternatives: then the result is empty.
    """
    said = _verdicts(first)
    if not all(verdict.stance in (Stance.SUPPORT, Stance.OPPOSE) for verdict in said.values()):
        return {}
    if len({(verdict.stance, normalize_counted_position(verdict.position)) for verdict in said.values()}) > len(
        {verdict.stance for verdict in said.values()}
    ):
        return {}
    return {
        seat: {labels[other]: SAME if its.stance is own.stance else OPPOSED for other, its in said.items()}
        for seat, own in said.items()
    }


def decide_second_opinion_follow_up(standing: CouncilStanding) -> FollowUpReason:
    """Return the reason for a follow-up: disagreement, different recommendations, or a blocking risk.

    Only explicit ratings are compared, not words: a pair without a rating of same or acceptable is disputed.
    """
    supported = standing.supported
    if len(set(supported.values())) > 1:
        others = [(seat, other) for seat, own in supported.items() for other in supported.values() if other != own]
        disputed = any(standing.ratings.get(seat, {}).get(other, OPPOSED) == OPPOSED for seat, other in others)
        return "disagreement" if disputed else "recommendation_gap"
    blocking = any(issue.blocking for said in _verdicts(standing.blind).values() for issue in said.issues)
    return "risk" if blocking else ""


def decide_second_opinion(standing: CouncilStanding) -> Decision:
    """Return the decision: reached if all counted seats agree; otherwise every answer is quoted."""
    decision = positions.decide_council(standing)
    count = len(standing.supported)
    after = "first_round" if standing.last is standing.blind else "follow_up"
    decision = msgspec.structs.replace(decision, text=_render_opinion_synthesis(standing), author="")
    if len(set(standing.supported.values())) == 1:
        how = (OpinionsAgree(count, after),) if count > 1 else decision.how
        first = [
            seat for seat, said in _verdicts(standing.blind).items() if any(issue.blocking for issue in said.issues)
        ]
        risks = (RisksOpen(tuple(first)),) if first else ()
        return msgspec.structs.replace(decision, how=(*how, *risks))
    texts = {proposal.id: proposal.text for proposal in standing.proposals}
    return msgspec.structs.replace(
        decision,
        outcome=Outcome.DEADLOCK,
        how=(OpinionsDiffer(count, after),),
        winner="",
        position="",
        dissent=tuple(
            decision_dissent_from_move(standing.words[seat], texts[standing.supported[seat]])
            for seat in _counted_seats(standing)
        ),
    )


def _render_opinion_synthesis(standing: CouncilStanding) -> str:
    """Return the text of the decision, without a model: every seat's recommendation, by agreement, and every risk."""
    camps = [
        (proposal, [seat for seat in _counted_seats(standing) if standing.supported[seat] == proposal.id])
        for proposal in standing.proposals
    ]
    parts = [_render_camp(standing, *camp) for camp in sorted(camps, key=lambda camp: -len(camp[1])) if camp[1]]
    risks = [
        f"- {seat}{', to be settled first' if risk.blocking else ''}: “{' '.join(risk.text.split())}”"
        for seat, said in _verdicts(standing.blind).items()
        for risk in said.issues
    ]
    parts += ["\n".join(("Risks they name:", *risks))] if risks else []
    return "\n\n".join(parts)


def _render_camp(standing: CouncilStanding, proposal: Proposal, seats: Sequence[str]) -> str:
    said = _verdicts(standing.blind)
    head = f"{join_names_as_text(seats)} make the same recommendation:" if len(seats) > 1 else f"{seats[0]} recommends:"
    return "\n".join((head, *(_quote(seat, said.get(seat), proposal) for seat in seats)))


def _quote(seat: str, said: Verdict | None, proposal: Proposal) -> str:
    """Return the quote of a seat; if it changed its recommendation, with the first one."""
    if said is None:
        return f"- {seat}: “{proposal.text}”"
    if seat in proposal.authors:
        return f"- {seat}{_WORDS.get(said.stance, '')}: “{said.position}”"
    return f"- {seat}: “{proposal.text}”, having first recommended “{said.position}”"


def _verdicts(first: Round) -> dict[str, Verdict]:
    return verdicts_counted_in_decision(first.moves, first.electorate, first.name)


def _counted_seats(standing: CouncilStanding) -> list[str]:
    """Return the counted seats in the order of the electorate."""
    order = dict.fromkeys((*standing.blind.electorate, *standing.last.electorate))
    return [seat for seat in order if seat in standing.supported]


OPINIONS_ROUND_NAME = "second-opinion/1-opinions"
FOLLOW_UP_ROUND_NAME = "second-opinion/3-follow-up"
