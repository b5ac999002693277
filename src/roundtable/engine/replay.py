"""A meeting replayed from its own record, as if some seats had not taken part; no model is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence

import msgspec

from roundtable.core.effects import ChildEnded, Effect, EffectResult
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Table
from roundtable.core.session import RoundRecord, Session
from roundtable.core.text.wording import join_names_as_text
from roundtable.core.values import Absence, Charter, Decision, Expect, Gate, Move, Prompt, Quorum, Round, Seat, Turns
from roundtable.engine.limits import DecreeReview
from roundtable.engine.prompts import PromptLayout

FREE_CODEC = "free"
"""The codec of replies that no rule reads, so that a meeting can be replayed without them."""

NOT_ASKED_FAULT = Fault.of(FaultKind.MISSING, "This seat was not asked in this round.")


class NotOnRecord(Exception):
    """The record does not say how the meeting would have continued; the message says why, in one sentence."""


async def replay_recorded_asks(
    session: Session, hold: Callable[[Table], Awaitable[Decision]], without: Collection[str]
) -> Decision:
    """The decision that the meeting's own rules make from the record without these seats; may raise NotOnRecord."""
    table = ReplayTable(session, without)
    return await table.check_decrees(await hold(table))


class ReplayTable:
    """A table that answers every ask from the record."""

    def __init__(self, session: Session, without: Collection[str]) -> None:
        self._session = session
        self._without = frozenset(without)
        self._charter = msgspec.structs.replace(session.charter, seats=self._present(session.charter.seats))
        self._decrees = DecreeReview(session, self.gate)
        self._coauthors = _coauthor_names(session)
        self._labels = {
            seat: label for seat, label in PromptLayout(session, {}).labels.items() if seat not in self._without
        }

    def _present(self, seats: Sequence[Seat]) -> tuple[Seat, ...]:
        return tuple(seat for seat in seats if seat.name not in self._without)

    @property
    def charter(self) -> Charter:
        """The charter, with the remaining seats."""
        return self._charter

    @property
    def seats(self) -> tuple[Seat, ...]:
        """The remaining seats that were switched on at the end."""
        return self._present(self._session.seats)

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the original meeting, so that ids of proposals stay the same."""
        return self._labels

    async def may_open(self, round: str) -> bool:
        """Whether the limits allowed this round in the original meeting; `ask` finds out whether it was held."""
        return round in self._session.rounds or round not in self._session.limit_stops

    async def ask(
        self,
        round: str,
        prompt: Prompt,
        *,
        expect: Expect = Expect(),
        seats: Sequence[str] | None = None,
        turns: Turns = Turns(),
    ) -> Round:
        """The recorded round, without the removed seats."""
        names = [seat.name for seat in self.seats if seats is None or seat.name in seats]
        record = self._session.rounds.get(round)
        if expect.codec == FREE_CODEC and (record is None or not set(names) & set(record.opened.electorate)):
            return Round(
                round, tuple(names), missing=tuple(Absence(seat, NOT_ASKED_FAULT) for seat in names), quorate=False
            )
        recorded_round = self._recorded_round(round)
        electorate = recorded_round.electorate
        if unasked := [seat for seat in names if seats is not None and seat not in electorate]:
            raise NotOnRecord(
                f"The meeting would have asked {join_names_as_text(unasked)} in round {round}, which was not done."
            )
        present = tuple(seat for seat in electorate if seat not in self._without and (seats is None or seat in seats))
        moves = tuple(move for move in recorded_round.moves if move.seat in present)
        assert record is not None
        if recorded := record.opened.expect.choices:
            moves = tuple(self._with_current_choices(move, recorded, expect.choices) for move in moves)
        missing = tuple(absence for absence in recorded_round.missing if absence.seat in present)
        quorate = self._quorum(record).is_reached(moves, present)
        return Round(round, present, moves, missing, quorate, record.opened.turns.purpose)

    def _recorded_round(self, round: str) -> Round:
        record = self._session.rounds.get(round)
        if record is None:
            raise NotOnRecord(f"The meeting would have needed the round {round}, which was not held.")
        if record.closed is None or record.closed.how == "cancelled":
            raise NotOnRecord(f"Round {round} was not finished.")
        return record.result(record.closed)

    def _with_current_choices(self, move: Move, recorded: Sequence[str], current: Sequence[str]) -> Move:
        """A move with the choices of the replay; raises NotOnRecord if its proposal no longer exists."""
        verdict = move.verdict
        successor = {choice: self._successor(choice, current) for choice in recorded}
        if verdict.target and not successor.get(verdict.target):
            raise NotOnRecord(f"{move.seat} supported the proposal {verdict.target}, which no remaining seat had made.")
        # A ballot entry that was listed next to its successor does not count for it.
        names = {choice: new for choice, new in successor.items() if new and (new == choice or new not in recorded)}
        replayed = msgspec.structs.replace(
            verdict,
            target=successor.get(verdict.target, ""),
            ranking=tuple(names[choice] for choice in verdict.ranking if choice in names),
            ratings={names[choice]: word for choice, word in verdict.ratings.items() if choice in names},
        )
        return msgspec.structs.replace(move, verdict=replayed)

    def _successor(self, choice: str, current: Sequence[str]) -> str:
        """The current name of a recorded choice; empty if it no longer exists."""
        return next((name for name in (choice, *self._coauthors.get(choice, ())) if name in current), "")

    def _quorum(self, record: RoundRecord) -> Quorum:
        """The recorded quorum, without essential seats that are removed."""
        quorum = record.opened.limits.quorum
        essential = tuple(seat for seat in quorum.essential if seat not in self._without)
        return msgspec.structs.replace(quorum, essential=essential)

    async def do(self, step: str, effect: Effect) -> EffectResult | Fault:
        """The recorded result of the step."""
        if step not in self._session.results:
            raise NotOnRecord(f"The meeting would have needed the step {step}, which was not performed.")
        return self._session.results[step]

    async def gate(self, gate: Gate) -> str:
        """The person's recorded answer if it is still an option, otherwise the default."""
        answer = self._session.answers.get(gate.id)
        return answer.option if answer is not None and answer.option in gate.options else gate.default

    def answer_text(self, gate: str) -> str:
        """The text of the recorded answer."""
        answer = self._session.answers.get(gate)
        return answer.text if answer is not None else ""

    def answered_by_default(self, gate: str) -> bool:
        """Whether nobody answered the gate then."""
        answer = self._session.answers.get(gate)
        return answer is None or answer.by_default

    async def gate_after_note(self, gate: Gate, before: str) -> str:
        """The recorded answer, if the gate was opened then."""
        return await self.gate(gate) if gate.id in self._session.gates else ""

    async def check_decrees(self, decision: Decision) -> Decision:
        """Check the decision against decrees and failures, with the remaining seats' answers only."""
        moves = (move for record in self._session.rounds.values() for move in record.moves())
        return await self._decrees.review(decision, (move for move in moves if move.seat not in self._without))

    async def child(self, step: str, charter: Charter) -> Decision:
        """The recorded decision of the child meeting."""
        result = self._session.results.get(step)
        if not isinstance(result, ChildEnded):
            raise NotOnRecord(f"The meeting would have needed the child meeting {step}, which was not held.")
        return result.decision


def _coauthor_names(session: Session) -> dict[str, list[str]]:
    """For each name of a proposal (that of its first author), the names of its other authors, in order."""
    labels = PromptLayout(session, {}).labels
    coauthors: dict[str, list[str]] = {}
    for proposal in session.decision.proposals if session.decision else ():
        own = [(author, labels[author]) for author in proposal.authors if author in labels]
        if own and proposal.id in own[0]:
            for names in own:
                others = [name for other in own if other != names for name in other]
                coauthors |= dict.fromkeys(names, others)
    return coauthors
