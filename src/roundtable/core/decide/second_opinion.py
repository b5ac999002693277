"""What several opinions come to: whether they differ, by what the seats said outright, and a synthesis that quotes.

Why a second opinion ended, in the words its document has for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from roundtable.core.decide import positions
from roundtable.core.decide.decision import dissent_from_move
from roundtable.core.decide.positions import OPPOSED, SAME, CouncilStanding, PositionRatings, normalize_position
from roundtable.core.decide.ruling import counted_verdicts
from roundtable.core.reasons import OpinionsAgree, OpinionsDiffer, RisksOpen
from roundtable.core.session import RoundRecord, Session
from roundtable.core.text.wording import join_names
from roundtable.core.values import Decision, Outcome, Proposal, Round
from roundtable.core.verdict import Stance, Verdict

FollowUpReason = Literal["", "disagreement", "recommendation_gap", "risk"]

_WORDS = {Stance.SUPPORT: " (yes)", Stance.OPPOSE: " (no)", Stance.AMEND: " (it depends)"}


def ratings_from_stances(first: Round, labels: dict[str, str]) -> PositionRatings:
    """What the seats say of each other by a plain yes or no; nothing unless that tells all of them apart.

    Yes against no is a difference. Yes and yes in other words is not yet the same: to an either-or question one can
    say yes to either.
    """
    said = _said(first)
    if not all(it.stance in (Stance.SUPPORT, Stance.OPPOSE) for it in said.values()):
        return {}
    if len({(it.stance, normalize_position(it.position)) for it in said.values()}) > len(
        {it.stance for it in said.values()}
    ):
        return {}
    return {
        seat: {labels[other]: SAME if its.stance is own.stance else OPPOSED for other, its in said.items()}
        for seat, own in said.items()
    }


def find_divergence(standing: CouncilStanding) -> FollowUpReason:
    """What makes it worth asking once more: an open disagreement, a gap between recommendations, a risk that blocks.

    Only what was said outright is compared, never the words: what nobody called the same or acceptable is disputed.
    """
    stands = standing.stands
    if len(set(stands.values())) > 1:
        others = [(seat, other) for seat, own in stands.items() for other in stands.values() if other != own]
        disputed = any(standing.ratings.get(seat, {}).get(other, OPPOSED) == OPPOSED for seat, other in others)
        return "disagreement" if disputed else "recommendation_gap"
    blocking = any(issue.blocking for said in _said(standing.blind).values() for issue in said.issues)
    return "risk" if blocking else ""


def decide_second_opinion(standing: CouncilStanding) -> Decision:
    """Agreement only where all who count agree; else everybody's view stands beside the others', and nobody wins."""
    decision = positions.decide_council(standing)
    count = len(standing.stands)
    after = "first_round" if standing.last is standing.blind else "follow_up"
    decision = msgspec.structs.replace(decision, text=render_opinion_synthesis(standing), author="")
    if len(set(standing.stands.values())) == 1:
        how = (OpinionsAgree(count, after),) if count > 1 else decision.how
        first = [seat for seat, said in _said(standing.blind).items() if any(it.blocking for it in said.issues)]
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
            dissent_from_move(standing.words[seat], texts[standing.stands[seat]]) for seat in _seats(standing)
        ),
    )


def render_opinion_synthesis(standing: CouncilStanding) -> str:
    """Who comes to the same and who does not, and every risk, each in its seat's own words. No model wrote this."""
    camps = [
        (proposal, [seat for seat in _seats(standing) if standing.stands[seat] == proposal.id])
        for proposal in standing.proposals
    ]
    parts = [_camp(standing, *camp) for camp in sorted(camps, key=lambda camp: -len(camp[1])) if camp[1]]
    risks = [
        f"- {seat}{', to be settled first' if risk.blocking else ''}: “{' '.join(risk.text.split())}”"
        for seat, said in _said(standing.blind).items()
        for risk in said.issues
    ]
    parts += ["\n".join(("Risks they name:", *risks))] if risks else []
    return "\n\n".join(parts)


def _camp(standing: CouncilStanding, proposal: Proposal, seats: Sequence[str]) -> str:
    said = _said(standing.blind)
    head = f"{join_names(seats)} come to the same:" if len(seats) > 1 else f"{seats[0]} recommends:"
    return "\n".join((head, *(_quote(seat, said.get(seat), proposal) for seat in seats)))


def _quote(seat: str, said: Verdict | None, proposal: Proposal) -> str:
    """A seat's own line; one that came over to another proposal is quoted with what it had recommended before."""
    if said is None:
        return f"- {seat}: “{proposal.text}”"
    if seat in proposal.authors:
        return f"- {seat}{_WORDS.get(said.stance, '')}: “{said.position}”"
    return f"- {seat}: “{proposal.text}”, having first recommended “{said.position}”"


def _said(first: Round) -> dict[str, Verdict]:
    return counted_verdicts(first.moves, first.electorate, first.name)


def _seats(standing: CouncilStanding) -> list[str]:
    """Those who are counted, in the order of the table."""
    order = dict.fromkeys((*standing.blind.electorate, *standing.last.electorate))
    return [seat for seat in order if seat in standing.stands]


OPINIONS_ROUND_NAME = "second-opinion/1-opinions"
FOLLOW_UP_ROUND_NAME = "second-opinion/3-follow-up"

StopReason = Literal[
    "",
    "round_one_complete",
    "follow_up_not_needed",
    "follow_up_complete",
    "follow_up_failed",
    "all_participants_failed",
]


def second_opinion_stop_reason(session: Session) -> StopReason:
    """Why it ended; empty while it goes on, where a person cancelled it, and for any other meeting."""
    decision = session.decision
    if decision is None or decision.outcome is Outcome.CANCELLED or session.charter.meeting != "second-opinion":
        return ""
    first = session.rounds.get(OPINIONS_ROUND_NAME)
    if first is None or not any(move.verdict.counts for move in first.moves()):
        return "all_participants_failed"
    if not is_follow_up_enabled(session) or not _quorate(first):
        return "round_one_complete"
    if FOLLOW_UP_ROUND_NAME in session.limit_stops:
        return "follow_up_failed"
    if FOLLOW_UP_ROUND_NAME not in session.rounds:
        return "follow_up_not_needed"
    return "follow_up_complete" if _quorate(session.rounds[FOLLOW_UP_ROUND_NAME]) else "follow_up_failed"


def is_follow_up_enabled(session: Session) -> bool:
    """Whether a follow-up was asked for at the opening."""
    return bool(session.charter.settings.get("follow_up", False))


def follow_up_reason(session: Session) -> str:
    """What the first round showed that was worth a second one; empty where none was held."""
    asked_again = session.rounds.get(FOLLOW_UP_ROUND_NAME)
    return asked_again.opened.prompt.values.get("reason", "") if asked_again else ""


def second_opinion_prompt_role(round: str) -> str:
    """What a round asked for, by its name: `initial`, `follow_up`, or the purpose it is named after."""
    if round == OPINIONS_ROUND_NAME:
        return "initial"
    return round.rpartition("/")[2].partition("-")[2].replace("-", "_")


def _quorate(record: RoundRecord) -> bool:
    """Whether a round counts: enough of those who were asked have answered."""
    return record.closed is not None and record.closed.quorate
