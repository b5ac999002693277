"""A meeting held again over its own record, as if some seats had never been there: no model is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence

import msgspec

from roundtable.core.decide.ruling import join_names
from roundtable.core.effects import ChildEnded, Effect, EffectResult
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.ports import Table
from roundtable.core.session import RoundRecord, Session
from roundtable.core.values import Absence, Charter, Decision, Expect, Gate, Limits, Move, Prompt, Round, Seat, Turns
from roundtable.engine.limits import DecreeReview, has_quorum
from roundtable.engine.prompts import anonymous_seat_labels

FREE_CODEC = "free"
"""Words in which nothing is read: no rule hangs on them, so a meeting can be told to its end without them."""

NOT_ASKED_FAULT = Fault.of(FaultKind.MISSING, "It was not asked then.")


class NotOnRecord(Exception):
    """The record does not say how the meeting would have gone on; the message says why, in one sentence."""


async def replay_meeting(
    session: Session, hold: Callable[[Table], Awaitable[Decision]], without: Collection[str]
) -> Decision:
    """What the meeting's own rules make of the record without these seats, or Untold."""
    table = ReplayTable(session, without)
    return await table.check_decrees(await hold(table))


class ReplayTable:
    """Answers every ask from the record. What was never asked there cannot be told."""

    def __init__(self, session: Session, without: Collection[str]) -> None:
        self._session = session
        self._without = frozenset(without)
        self._charter = msgspec.structs.replace(session.charter, seats=self._present(session.charter.seats))
        self._heeding = DecreeReview(session, self.gate)
        self._heirs = _heirs(session)
        self._labels = {
            seat: label for seat, label in anonymous_seat_labels(session).items() if seat not in self._without
        }

    def _present(self, seats: Sequence[Seat]) -> tuple[Seat, ...]:
        return tuple(seat for seat in seats if seat.name not in self._without)

    @property
    def charter(self) -> Charter:
        """What was agreed at the opening, by those who are there."""
        return self._charter

    @property
    def seats(self) -> tuple[Seat, ...]:
        """The seats that were switched on in the end."""
        return self._present(self._session.seats)

    @property
    def labels(self) -> dict[str, str]:
        """The names under which they were read out in the meeting itself, so that ids stay what they were."""
        return self._labels

    async def may_open(self, round: str) -> bool:
        """What a limit forbade then, it forbids now; whether anything is known of the round, asking will tell."""
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
        """The round as it was, without those who are left out."""
        wanted = [seat.name for seat in self.seats if seats is None or seat.name in seats]
        record = self._session.rounds.get(round)
        if expect.codec == FREE_CODEC and (record is None or not set(wanted) & set(record.opened.electorate)):
            return Round(
                round, tuple(wanted), missing=tuple(Absence(seat, NOT_ASKED_FAULT) for seat in wanted), quorate=False
            )
        held = self._held(round)
        asked = held.electorate
        if never := [seat for seat in wanted if seats is not None and seat not in asked]:
            raise NotOnRecord(f"{join_names(never)} would have been asked in {round}, and was not.")
        present = tuple(it for it in asked if it not in self._without and (seats is None or it in seats))
        moves = tuple(move for move in held.moves if move.seat in present)
        assert record is not None
        if then := record.opened.expect.choices:
            moves = tuple(self._as_of_now(move, then, expect.choices) for move in moves)
        missing = tuple(it for it in held.missing if it.seat in present)
        return Round(round, present, moves, missing, has_quorum(moves, present, self._limits(record)))

    def _held(self, round: str) -> Round:
        record = self._session.rounds.get(round)
        if record is None:
            raise NotOnRecord(f"It would have needed another round, {round}.")
        if record.closed is None or record.closed.how == "cancelled":
            raise NotOnRecord(f"{round} was never finished.")
        return record.result(record.closed)

    def _as_of_now(self, move: Move, then: Sequence[str], now: Sequence[str]) -> Move:
        """A move with what could be chosen now, or Untold where it stood for what is no longer there."""
        said = move.verdict
        heir = {
            it: it if it in now else next((new for new in self._heirs.get(it, ()) if new in now), "") for it in then
        }
        if said.target and not heir.get(said.target):
            raise NotOnRecord(f"{move.seat} stood for {said.target}, which nobody else had proposed.")
        # On a ballot, what stood there beside its heir is not the heir's.
        names = {it: new for it, new in heir.items() if new and (new == it or new not in then)}
        verdict = msgspec.structs.replace(
            said,
            target=heir.get(said.target, ""),
            ranking=tuple(names[it] for it in said.ranking if it in names),
            ratings={names[it]: word for it, word in said.ratings.items() if it in names},
        )
        return msgspec.structs.replace(move, verdict=verdict)

    def _limits(self, record: RoundRecord) -> Limits:
        """The bar as it was, but nobody who is left out can be essential."""
        limits = record.opened.limits
        essential = tuple(seat for seat in limits.quorum.essential if seat not in self._without)
        return msgspec.structs.replace(limits, quorum=msgspec.structs.replace(limits.quorum, essential=essential))

    async def do(self, step: str, effect: Effect) -> EffectResult | Fault:
        """What came of it then."""
        if step not in self._session.results:
            raise NotOnRecord(f"It would have needed {step}, which was never done.")
        return self._session.results[step]

    async def gate(self, gate: Gate) -> str:
        """The person's answer then, where it still is one; else the gate is left alone."""
        said = self._session.answers.get(gate.id)
        return said.option if said is not None and said.option in gate.options else gate.default

    def answer_text(self, gate: str) -> str:
        """What they wrote with it then."""
        said = self._session.answers.get(gate)
        return said.text if said is not None else ""

    def answered_by_default(self, gate: str) -> bool:
        """Whether nobody answered it then."""
        said = self._session.answers.get(gate)
        return said is None or said.by_default

    async def gate_after_note(self, gate: Gate, before: str) -> str:
        """As it was: asked only where the person had spoken."""
        return await self.gate(gate) if gate.id in self._session.gates else ""

    async def check_decrees(self, decision: Decision) -> Decision:
        """The same noes stand against it, and who is left out has answered none of them."""
        moves = (move for record in self._session.rounds.values() for move in record.moves())
        return await self._heeding.review(decision, (move for move in moves if move.seat not in self._without))

    async def child(self, step: str, charter: Charter) -> Decision:
        """What the meeting under this one decided."""
        result = self._session.results.get(step)
        if not isinstance(result, ChildEnded):
            raise NotOnRecord(f"It would have needed the meeting {step}, which was never held.")
        return result.decision


def _heirs(session: Session) -> dict[str, list[str]]:
    """A proposal is called after its first author, by name or label; without that seat, after another one of them."""
    known = anonymous_seat_labels(session)
    heirs: dict[str, list[str]] = {}
    for proposal in session.decision.proposals if session.decision else ():
        own = [(author, known[author]) for author in proposal.authors if author in known]
        if own and proposal.id in own[0]:
            for names in own:
                others = [name for other in own if other != names for name in other]
                heirs |= dict.fromkeys(names, others)
    return heirs
