"""Positions in a council: grouped into proposals, followed through the rounds, and counted for the decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from roundtable.core.decide.ruling import describe_settled_claims
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.reasons import (
    ConformityDiscounted,
    NoMajority,
    NotAnAgreement,
    PersonChose,
    Reason,
    Reasons,
    RoundBelowQuorum,
    SeatsAgree,
    SingleOpinion,
    TooFewAnswers,
)
from roundtable.core.values import Absence, Decision, Dissent, Move, Outcome, Proposal, Round

NEW_PROPOSAL = "new"
SAME, ACCEPTABLE, OPPOSED = "same", "acceptable", "opposed"
PositionRatings = Mapping[str, Mapping[str, str]]
"""The rating that each seat gives each position: `same`, `acceptable` or `opposed`."""

UNREADABLE_ANSWER = Fault.of(
    FaultKind.MALFORMED,
    "Its answer could not be read.",
    help="The model did not follow the requested reply format. Try a larger model or another voice.",
)
_NO_REASON = frozenset({"", "none", "n/a", "na", "no", "nothing", "no error", "no errors", "null", "unknown"})


class CouncilStanding(msgspec.Struct, frozen=True):
    """The state of a council after a round.

    `supported` is the proposal that each seat supports, `blind_supported` the one it supported after the blind round,
    and `words` the move in which it explained its present choice. `moving` is whether a seat changed its position in
    the last round. `conformity` are the seats whose change did not count because they gave no reason.
    """

    blind: Round
    last: Round
    labels: dict[str, str]
    proposals: tuple[Proposal, ...]
    blind_supported: dict[str, str]
    supported: dict[str, str]
    words: dict[str, Move]
    ratings: PositionRatings = {}
    moving: bool = True
    conformity: tuple[str, ...] = ()
    notices: Reasons = ()

    @property
    def settled(self) -> bool:
        """Whether the debate is over: one proposal is acceptable to all, or no seat changes its position."""
        return bool(self.agreed) or not self.moving

    @property
    def agreed(self) -> str:
        """The proposal that all support, or that is the only leader and acceptable to every other seat."""
        ranked = Counter(self.supported.values()).most_common(2)
        if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
            return ""
        leader = ranked[0][0]
        others = [seat for seat, proposal_id in self.supported.items() if proposal_id != leader]
        is_acceptable = all(self.ratings.get(seat, {}).get(leader) in (SAME, ACCEPTABLE) for seat in others)
        return leader if is_acceptable else ""

    @property
    def outcome(self) -> tuple[Outcome, str]:
        """The outcome and the winner. A majority of the counted seats decides; a shared lead is a tie."""
        if self.agreed:
            return Outcome.REACHED, self.agreed
        ranked = Counter(self.supported.values()).most_common(2)
        if not ranked:
            return Outcome.INSUFFICIENT, ""
        if ranked[0][1] * 2 > len(self.supported):
            return Outcome.REACHED, ranked[0][0]
        shared = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
        return (Outcome.TIE if shared else Outcome.DEADLOCK), ""

    def reading(self) -> tuple[str, ...]:
        """The proposals as lines for the prompts of seats."""
        return tuple(f"{proposal.id}: {proposal.text}" for proposal in self.proposals)

    @classmethod
    def after_blind_round(
        cls, blind: Round, labels: Mapping[str, str], options: Sequence[str], ratings: PositionRatings
    ) -> CouncilStanding:
        """Return the state after the blind round. Its votes are kept for the decision."""
        positions = positions_counted_in_decision(blind)
        proposals = (
            _proposals_from_options(options, positions) if options else _group_positions(positions, labels, ratings)
        )
        supported = {seat: proposal.id for proposal in proposals for seat in proposal.authors}
        words = {move.seat: move for move in blind.moves if move.seat in supported}
        by_proposal = {seat: _ratings_by_proposal(given, proposals, labels) for seat, given in ratings.items()}
        return cls(blind, blind, dict(labels), proposals, supported, supported, words, by_proposal, len(supported) > 1)

    def after_reading(self, again: Round) -> CouncilStanding:
        """Return the state after a round in which seats read the proposals.

        A seat that changes its position without a reason is counted with its blind position.
        """
        if not again.quorate:
            valid = len(positions_counted_in_decision(again))
            notice = RoundBelowQuorum(again.name, valid, len(again.electorate), self.last.name)
            return msgspec.structs.replace(self, moving=False, notices=(*self.notices, notice))
        supported: dict[str, str] = {}
        proposals = list(self.proposals)
        words = {seat: move for seat, move in self.words.items() if again.move_of(seat) is not None}
        conformity: list[str] = []
        moved = False
        for move in again.moves:
            seat, proposal_id = move.seat, move.verdict.target
            if not move.verdict.counts or not proposal_id:
                words.pop(seat, None)
                continue
            before = self.supported.get(seat, self.blind_supported.get(seat))
            blind_move = self.blind.move_of(seat)
            if before is not None and proposal_id != before and blind_move and not is_position_change_justified(move):
                conformity.append(seat)
                supported[seat], words[seat] = self.blind_supported.get(seat, before), blind_move
                continue
            if proposal_id == NEW_PROPOSAL:
                proposal_id = f"{self.labels[seat]}{len(proposals) + 1}"
                proposals.append(Proposal(proposal_id, move.verdict.position, (seat,)))
            moved = moved or proposal_id != before
            explained = words.get(seat) if proposal_id == before else None
            supported[seat], words[seat] = (
                proposal_id,
                msgspec.structs.replace(move, text=explained.text) if explained else move,
            )
        return msgspec.structs.replace(
            self,
            last=again,
            proposals=tuple(proposals),
            supported=supported,
            words=words,
            ratings={},
            moving=moved,
            conformity=tuple(conformity),
        )


def positions_counted_in_decision(round: Round) -> dict[str, str]:
    """Return the readable positions by seat."""
    return {move.seat: move.verdict.position for move in round.moves if move.verdict.counts}


def normalize_counted_position(position: str) -> str:
    """Return a position without differences in case, spacing and closing punctuation."""
    return " ".join(position.casefold().split()).rstrip(".,!;: ")


def has_different_counted_positions(round: Round) -> bool:
    """Return whether the normalized positions differ."""
    return len({normalize_counted_position(position) for position in positions_counted_in_decision(round).values()}) > 1


def _proposals_from_options(options: Sequence[str], positions: Mapping[str, str]) -> tuple[Proposal, ...]:
    """Return one proposal for each given option, with the seats that chose it exactly."""
    return tuple(
        Proposal(chr(ord("A") + index), option, tuple(seat for seat, taken in positions.items() if taken == option))
        for index, option in enumerate(options)
    )


def _group_positions(
    positions: Mapping[str, str], labels: Mapping[str, str], ratings: PositionRatings
) -> tuple[Proposal, ...]:
    """Group positions with equal text, or whose authors rate each other's as the same, into proposals.

    A chain of ratings in which not every pair agrees counts as disagreement.
    """

    def is_same_position(a: str, b: str) -> bool:
        mutual = ratings.get(a, {}).get(labels[b]), ratings.get(b, {}).get(labels[a])
        return normalize_counted_position(positions[a]) == normalize_counted_position(positions[b]) or mutual == (
            SAME,
            SAME,
        )

    groups: list[list[str]] = []
    for seat in sorted(positions, key=lambda seat: (len(labels[seat]), labels[seat])):
        linked = [group for group in groups if any(is_same_position(seat, other) for other in group)]
        if len(linked) == 1 and all(is_same_position(seat, other) for other in linked[0]):
            linked[0].append(seat)
        else:
            groups.append([seat])
    return tuple(Proposal(labels[group[0]], positions[group[0]], tuple(group)) for group in groups)


def _ratings_by_proposal(
    given: Mapping[str, str], proposals: Sequence[Proposal], labels: Mapping[str, str]
) -> dict[str, str]:
    """Return a seat's rating of each proposal: its worst rating of the positions in that proposal."""
    result: dict[str, str] = {}
    for proposal in proposals:
        rated = {given.get(labels[author], OPPOSED) for author in proposal.authors}
        result[proposal.id] = next(word for word in (OPPOSED, ACCEPTABLE, SAME) if word in rated or word == SAME)
    return result


def is_position_change_justified(move: Move) -> bool:
    """Return whether a move names an error, or cites or proves a fact; agreement of other seats is no reason."""
    reasons = [move.verdict.error, *(evidence.text for evidence in move.verdict.evidence)]
    named = any(normalize_counted_position(reason) not in _NO_REASON and len(reason.split()) >= 2 for reason in reasons)
    return named or any(claim.held for claim in move.verdict.claims)


def decide_council(standing: CouncilStanding, chosen: str = "") -> Decision:
    """Return the decision with the blind vote, and the seats that were not counted and why.

    Dissent is kept word for word; a seat that could not be counted at the end is quoted with its blind answer.
    """
    outcome, winner = standing.outcome
    if chosen:
        outcome, winner = Outcome.REACHED, chosen
    electorate = tuple(dict.fromkeys((*standing.blind.electorate, *standing.last.electorate)))
    texts = {proposal.id: proposal.text for proposal in standing.proposals}
    author, words = _spokesman(standing, electorate, winner)
    dissent = tuple(
        Dissent(seat, texts[proposal_id], standing.words[seat].text, standing.words[seat].verdict.prediction)
        for seat, proposal_id in standing.supported.items()
        if proposal_id != winner
    ) + tuple(
        Dissent(seat, texts[proposal_id], move.text)
        for seat, proposal_id in standing.blind_supported.items()
        if seat not in standing.supported and proposal_id != winner and (move := standing.blind.move_of(seat))
    )
    return Decision(
        outcome,
        how=(PersonChose(chosen), _outcome_reason(standing, *standing.outcome))
        if chosen
        else (_outcome_reason(standing, outcome, winner),),
        winner=winner,
        position=texts.get(winner, ""),
        text=words.text if words else "",
        author=author,
        electorate=electorate,
        counted=tuple(seat for seat in electorate if seat in standing.supported),
        missing=_absences(standing, electorate),
        dissent=dissent,
        proposals=standing.proposals,
        blind_vote=dict(Counter(standing.blind_supported.values()).most_common()),
        tally=dict(Counter(standing.supported.values()).most_common()),
        conformity=standing.conformity,
        basis=(*dict.fromkeys((standing.blind.name, standing.last.name)), *describe_settled_claims((standing.last,))),
        notices=_notices(standing, outcome),
    )


def _spokesman(standing: CouncilStanding, electorate: Sequence[str], winner: str) -> tuple[str, Move | None]:
    """Return the seat and move that the decision quotes: the most confident supporter of the winner, or its author."""
    supporters = [seat for seat in electorate if winner and standing.supported.get(seat) == winner]
    if supporters:
        author = max(supporters, key=lambda seat: standing.words[seat].verdict.confidence or 0.0)
        return author, standing.words[author]
    proposed = (seat for proposal in standing.proposals if proposal.id == winner for seat in proposal.authors)
    author = next(proposed, "")
    return author, standing.blind.move_of(author)


def _outcome_reason(standing: CouncilStanding, outcome: Outcome, winner: str) -> Reason:
    after = "blind" if standing.last is standing.blind else "reading"
    if outcome is Outcome.REACHED:
        votes = sum(1 for proposal_id in standing.supported.values() if proposal_id == winner)
        if len(standing.supported) == 1:
            return SingleOpinion()
        others_accept = bool(standing.agreed) and votes < len(standing.supported)
        return SeatsAgree(votes, len(standing.supported), after, others_accept)
    return NoMajority(len(standing.supported), after)


def _absences(standing: CouncilStanding, electorate: Sequence[str]) -> tuple[Absence, ...]:
    """Return every seat of the electorate that is not counted, with the cause."""
    known = {absence.seat: absence for absence in (*standing.blind.missing, *standing.last.missing)}
    switched_off = Fault.of(
        FaultKind.CANCELLED, "It was switched off.", help="`roundtable amend` switches seats on again."
    )
    return tuple(
        Absence(seat, switched_off)
        if seat not in standing.last.electorate
        else known.get(seat, Absence(seat, UNREADABLE_ANSWER))
        for seat in electorate
        if seat not in standing.supported
    )


def _notices(standing: CouncilStanding, outcome: Outcome) -> Reasons:
    notices = list(standing.notices)
    if len(standing.supported) == 1 and outcome is Outcome.REACHED:
        notices.append(NotAnAgreement())
    if standing.conformity:
        notices.append(ConformityDiscounted(standing.conformity))
    return tuple(notices)


def decide_without_quorum(blind: Round) -> Decision:
    """Return the decision of a blind round without a quorum."""
    counted = tuple(move.seat for move in blind.moves if move.verdict.counts)
    return Decision(
        Outcome.INSUFFICIENT,
        how=(TooFewAnswers(len(counted), len(blind.electorate)),),
        electorate=blind.electorate,
        counted=counted,
        missing=(
            *blind.missing,
            *(Absence(move.seat, UNREADABLE_ANSWER) for move in blind.moves if not move.verdict.counts),
        ),
        basis=(blind.name,),
    )
