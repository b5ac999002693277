"""Where a debate stands: whose proposals there are, who agrees with whom outright, who objects, and when it is over."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from roundtable.core.decide.agreement import rule_no_objection
from roundtable.core.decide.decision import decision_from_ruling, dissent_from_move
from roundtable.core.decide.points import DebatePoints, collect_debate_points
from roundtable.core.decide.positions import normalize_position, positions_by_seat
from roundtable.core.decide.ruling import Ruling, counted_verdicts
from roundtable.core.reasons import ObjectionsNotAsked, PersonChose, TooFewAnswers
from roundtable.core.text.wording import join_names
from roundtable.core.values import Decision, Move, Outcome, Proposal, Round
from roundtable.core.verdict import Stance, Verdict

SupportNeeded = Literal["majority", "all"]


class Debate(msgspec.Struct, frozen=True):
    """The blind proposals, each under the name of its first author, and what was said to them since."""

    seed: Round
    proposals: tuple[Proposal, ...]
    rounds: tuple[Round, ...] = ()

    def after(self, round: Round) -> Debate:
        """The debate with one more round."""
        return msgspec.structs.replace(self, rounds=(*self.rounds, round))

    @property
    def latest(self) -> Round:
        """The round that counts now; nobody's word of an earlier one stands in for it."""
        return self.rounds[-1] if self.rounds else self.seed

    @property
    def authors(self) -> tuple[str, ...]:
        """The seats one can agree with."""
        return tuple(positions_by_seat(self.seed))

    @property
    def points(self) -> DebatePoints:
        """What was added to the proposals, and what of it is agreed."""
        return collect_debate_points(self.rounds)

    def reading(self) -> tuple[str, ...]:
        """The proposals as they are read out."""
        return tuple(f"{join_names(it.authors)}: {it.text}" for it in self.proposals)

    def stands(self) -> dict[str, str]:
        """What each seat heard in the latest round last spoke for: its own proposal until it agrees with another."""
        stands: dict[str, str] = {}
        for round in (self.seed, *self.rounds):
            for seat, said in self._said(round).items():
                stands[seat] = said.target or stands.get(seat, "")
        return {seat: stands[seat] for seat in self._said(self.latest) if stands[seat]}

    def named(self) -> dict[str, str]:
        """The proposal each seat spoke for outright in the latest round."""
        return {seat: said.target for seat, said in self._said(self.latest).items()}

    def tally(self) -> dict[str, int]:
        """How many stand for each proposal, the most first."""
        return dict(Counter(self.stands().values()).most_common())

    def tally_line(self) -> str:
        """`2 REST, 1 GraphQL, 1 tRPC`."""
        texts = {it.id: it.text for it in self.proposals}
        return ", ".join(f"{count} {texts[id]}" for id, count in self.tally().items())

    def ruling(self, support: SupportNeeded) -> Ruling:
        """What the latest round comes to; only who says outright with whom it agrees is counted as agreeing."""
        said = [Move(self.latest.name, seat, "", verdict) for seat, verdict in self._said(self.latest).items()]
        ruling = rule_no_objection(said, self.latest.electorate, support)
        if not self.latest.quorate:
            few = TooFewAnswers(len(said), len(self.latest.electorate))
            return msgspec.structs.replace(ruling, outcome=Outcome.INSUFFICIENT, winner="", why=(few,))
        if not self.rounds:
            return msgspec.structs.replace(ruling, outcome=Outcome.DEADLOCK, winner="", why=(ObjectionsNotAsked(),))
        return ruling

    def over(self, support: SupportNeeded) -> bool:
        """Nothing is left to say: they agree, too few are left, or everybody stands where all stood once before."""
        if not self.rounds:
            return False
        return self.ruling(support).outcome is not Outcome.DEADLOCK or self._standpoints(self.latest) in map(
            self._standpoints, self.rounds[:-1]
        )

    def _standpoints(self, round: Round) -> dict[str, tuple[Stance, str]]:
        return {seat: (said.stance, said.target) for seat, said in self._said(round).items()}

    def _said(self, round: Round) -> dict[str, Verdict]:
        """The verdicts of a round, each with the proposal it names. An addition that names none agrees with none."""
        own = {author: it.id for it in self.proposals for author in it.authors}
        verdicts: dict[str, Verdict] = {}
        for seat, said in counted_verdicts(round.moves, round.electorate, round.name).items():
            target = own.get(seat if round.name == self.seed.name else said.target, "")
            stance = said.stance if target or said.stance is Stance.OPPOSE else Stance.UNKNOWN
            verdicts[seat] = msgspec.structs.replace(said, target=target, stance=stance)
        return verdicts


def debate_after_blind_round(seed: Round) -> Debate:
    """The blind answers as proposals; the same words are one proposal."""
    groups: dict[str, list[str]] = {}
    positions = positions_by_seat(seed)
    for seat, text in positions.items():
        groups.setdefault(normalize_position(text), []).append(seat)
    return Debate(seed, tuple(Proposal(seats[0], positions[seats[0]], tuple(seats)) for seats in groups.values()))


def decide_debate(debate: Debate, support: SupportNeeded, chosen: str = "") -> Decision:
    """The winning proposal in its author's words, with the additions that were agreed on; who dissents is quoted."""
    ruling = debate.ruling(support)
    if chosen:
        why = (PersonChose(chosen), *ruling.why)
        ruling = msgspec.structs.replace(ruling, outcome=Outcome.REACHED, winner=chosen, why=why)
    stands, named = debate.stands(), debate.named()
    texts = {it.id: it.text for it in debate.proposals}
    own = next((it.authors for it in debate.proposals if it.id == ruling.winner), ())
    holders = [seat for seat in own if stands.get(seat) == ruling.winner]
    agreeing = [seat for seat, target in named.items() if target and target == ruling.winner]
    content = [*holders, *(seat for seat in agreeing if seat not in ruling.opposed)]
    dissent = [
        dissent_from_move(move, texts.get(stands.get(move.seat, ""), ""))
        for move in debate.latest.moves
        if move.seat in named and move.seat not in content
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
        text=_amended(decision.text, debate.points),
        tally=debate.tally(),
        blind_vote={it.id: len(it.authors) for it in debate.proposals},
    )


def _amended(text: str, made: DebatePoints) -> str:
    agreed = "\n".join(f"- {point.line}" for point in made.agreed)
    return f"{text}\n\nAgreed on top of it:\n{agreed}" if text and agreed else text
