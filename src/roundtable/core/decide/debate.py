"""A debate: its proposals, the seats that explicitly agree or object, whether it is over, and the decision."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from roundtable.core.decide.agreement import rule_no_objection
from roundtable.core.decide.decision import decision_dissent_from_move, decision_from_ruling
from roundtable.core.decide.points import DebatePoints, decide_debate_points
from roundtable.core.decide.positions import normalize_counted_position, positions_counted_in_decision
from roundtable.core.decide.ruling import Ruling, verdicts_counted_in_decision
from roundtable.core.reasons import ObjectionsNotAsked, PersonChose, TooFewAnswers
from roundtable.core.text.wording import join_names_as_text
from roundtable.core.values import Decision, Move, Outcome, Proposal, Round
from roundtable.core.verdict import Stance, Verdict

SupportNeeded = Literal["majority", "all"]


class Debate(msgspec.Struct, frozen=True):
    """The blind round (`seed`), its proposals with the names of their first authors as ids, and the later rounds."""

    seed: Round
    proposals: tuple[Proposal, ...]
    rounds: tuple[Round, ...] = ()

    @classmethod
    def after_blind_round(cls, seed: Round) -> Debate:
        """Return the debate after its blind round; answers with equal text are one proposal."""
        groups: dict[str, list[str]] = {}
        positions = positions_counted_in_decision(seed)
        for seat, text in positions.items():
            groups.setdefault(normalize_counted_position(text), []).append(seat)
        return cls(seed, tuple(Proposal(seats[0], positions[seats[0]], tuple(seats)) for seats in groups.values()))

    def after(self, round: Round) -> Debate:
        """Return the debate with one more round."""
        return msgspec.structs.replace(self, rounds=(*self.rounds, round))

    @property
    def latest(self) -> Round:
        """The newest round. A seat that is missing in it is not counted with an earlier verdict."""
        return self.rounds[-1] if self.rounds else self.seed

    @property
    def authors(self) -> tuple[str, ...]:
        """The seats that made a proposal in the blind round."""
        return tuple(positions_counted_in_decision(self.seed))

    @property
    def points(self) -> DebatePoints:
        """The additions to the proposals, and which of them are agreed."""
        return decide_debate_points(self.rounds)

    def reading(self) -> tuple[str, ...]:
        """The proposals as lines for the prompts of seats."""
        return tuple(f"{join_names_as_text(proposal.authors)}: {proposal.text}" for proposal in self.proposals)

    def supported(self) -> dict[str, str]:
        """Return the proposal that each seat of the latest round supports: its own, or the last one it agreed with."""
        supported: dict[str, str] = {}
        for round in (self.seed, *self.rounds):
            for seat, verdict in self._verdicts(round).items():
                supported[seat] = verdict.target or supported.get(seat, "")
        return {seat: supported[seat] for seat in self._verdicts(self.latest) if supported[seat]}

    def named(self) -> dict[str, str]:
        """Return the proposal that each seat supports explicitly in the latest round."""
        return {seat: verdict.target for seat, verdict in self._verdicts(self.latest).items()}

    def tally(self) -> dict[str, int]:
        """Return the number of supporters of each proposal, the most first."""
        return dict(Counter(self.supported().values()).most_common())

    def tally_line(self) -> str:
        """Return the tally as text: `2 REST, 1 GraphQL, 1 tRPC`."""
        texts = {proposal.id: proposal.text for proposal in self.proposals}
        return ", ".join(f"{count} {texts[id]}" for id, count in self.tally().items())

    def ruling(self, support: SupportNeeded) -> Ruling:
        """Return the ruling on the latest round; a seat agrees only with a proposal that it names."""
        moves = [Move(self.latest.name, seat, "", verdict) for seat, verdict in self._verdicts(self.latest).items()]
        ruling = rule_no_objection(moves, self.latest.electorate, support)
        if not self.latest.quorate:
            few = TooFewAnswers(len(moves), len(self.latest.electorate))
            return msgspec.structs.replace(ruling, outcome=Outcome.INSUFFICIENT, winner="", why=(few,))
        if not self.rounds:
            return msgspec.structs.replace(ruling, outcome=Outcome.DEADLOCK, winner="", why=(ObjectionsNotAsked(),))
        return ruling

    def over(self, support: SupportNeeded) -> bool:
        """Return whether the debate is over: agreement, no quorum, or all positions are as in an earlier round."""
        if not self.rounds:
            return False
        return self.ruling(support).outcome is not Outcome.DEADLOCK or self._stances_and_targets(self.latest) in map(
            self._stances_and_targets, self.rounds[:-1]
        )

    def _stances_and_targets(self, round: Round) -> dict[str, tuple[Stance, str]]:
        return {seat: (verdict.stance, verdict.target) for seat, verdict in self._verdicts(round).items()}

    def _verdicts(self, round: Round) -> dict[str, Verdict]:
        """Return the counted verdicts of a round, each with the id of the proposal that it names as its target.

        Support or amendment without a known proposal is no stance.
        """
        proposal_ids = {author: proposal.id for proposal in self.proposals for author in proposal.authors}
        verdicts: dict[str, Verdict] = {}
        for seat, verdict in verdicts_counted_in_decision(round.moves, round.electorate, round.name).items():
            target = proposal_ids.get(seat if round.name == self.seed.name else verdict.target, "")
            stance = verdict.stance if target or verdict.stance is Stance.OPPOSE else Stance.UNKNOWN
            verdicts[seat] = msgspec.structs.replace(verdict, target=target, stance=stance)
        return verdicts


def decide_debate(debate: Debate, support: SupportNeeded, chosen: str = "") -> Decision:
    """Return the decision: the winning proposal in its author's words with agreed additions, and the dissent."""
    ruling = debate.ruling(support)
    if chosen:
        why = (PersonChose(chosen), *ruling.why)
        ruling = msgspec.structs.replace(ruling, outcome=Outcome.REACHED, winner=chosen, why=why)
    supported, named = debate.supported(), debate.named()
    texts = {proposal.id: proposal.text for proposal in debate.proposals}
    authors = next((proposal.authors for proposal in debate.proposals if proposal.id == ruling.winner), ())
    holders = [seat for seat in authors if supported.get(seat) == ruling.winner]
    agreeing = [seat for seat, target in named.items() if target and target == ruling.winner]
    supporters = [*holders, *(seat for seat in agreeing if seat not in ruling.opposed)]
    dissent = [
        decision_dissent_from_move(move, texts.get(supported.get(move.seat, ""), ""))
        for move in debate.latest.moves
        if move.seat in named and move.seat not in supporters
    ]
    decision = decision_from_ruling(
        ruling,
        (debate.seed, *debate.rounds),
        proposals=debate.proposals,
        winner=ruling.winner,
        spokesman=debate.seed.move_of(ruling.winner) if ruling.winner else None,
        dissent=dissent,
        chosen_by_person=bool(chosen),
    )
    return msgspec.structs.replace(
        decision,
        text=_add_agreed_points(decision.text, debate.points),
        tally=debate.tally(),
        blind_vote={proposal.id: len(proposal.authors) for proposal in debate.proposals},
    )


def _add_agreed_points(text: str, points: DebatePoints) -> str:
    """Return the text of the winner with the points that all seats agreed on."""
    agreed = "\n".join(f"- {point.line}" for point in points.agreed)
    return f"{text}\n\nAgreed on top of it:\n{agreed}" if text and agreed else text
