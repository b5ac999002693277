"""How many tokens a meeting's prompts and answers come to, from its plan alone: nobody is asked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import NamedTuple

from roundtable.app.meetings import rules_of
from roundtable.core.codecs import codec
from roundtable.core.values import Charter, Expect, Right, Seat
from roundtable.core.views.measures import BYTES_PER_TOKEN
from roundtable.protocols import PlannedRound
from roundtable.store.facts import digest_of

FINEST = 3
"""Bytes per token where words are cut finer than usual: the most assumes it of everything."""

BALLOT = 60
"""Tokens of a ballot."""

POSITION = 160
"""Bytes of a position in one line."""


class Call(NamedTuple):
    """Tokens of one call, both ways."""

    asked: int
    answered: int


class Rehearsal:
    """One meeting before it is held: the sizes of its parts, and the rounds it may come to."""

    def __init__(self, charter: Charter, texts: Sequence[bytes]) -> None:
        rules = rules_of(charter)
        sizes = {digest_of(text): len(text) for text in texts}
        self._charter = charter
        self._templates = {name: sizes[digest] for name, digest in charter.templates.items()}
        self._rounds = _within(rules.planned(charter.settings, charter.options), charter.limits.rounds)

    def likely(self, seat: Seat, answer: int, thought: int, overhead: int, *, judging: bool) -> list[Call]:
        """The calls to be expected, with answers of so many tokens after so many of thought, which nobody reads.

        Those in which it is `judging`, or the others.
        """
        rounds = self._expected_of(seat)
        prompts = self._prompts(seat, rounds, answer * BYTES_PER_TOKEN)
        return [
            Call(prompt // BYTES_PER_TOKEN + overhead, (BALLOT if _is_ballot(round) else answer) + thought)
            for round, prompt in zip(rounds, prompts, strict=True)
            if round.turns.judging == judging
        ]

    def _expected_of(self, seat: Seat) -> list[PlannedRound]:
        """All that are likely, but of those in which one judges only where its turn comes."""
        judges = [it.name for it in self._charter.seats if Right.JUDGE in it.rights] or [""]
        turn = cycle(judges)
        likely = (round for round in self._rounds if round.likely)
        return [round for round in likely if not round.turns.judging or next(turn) == seat.name]

    def most(self, seat: Seat, thinking: int, overhead: int, *, judging: bool) -> list[Call]:
        """Every call there can be: each answer as long as allowed, and asked for once more to be mended."""
        usual = self._charter.limits.max_tokens
        longest_of_all = max((round.tokens or usual for round in self._rounds), default=usual)
        prompts = self._prompts(seat, self._rounds, longest_of_all * FINEST)
        calls: list[Call] = []
        for round, prompt in zip(self._rounds, prompts, strict=True):
            if round.turns.judging != judging:
                continue
            longest = round.tokens or usual
            asked = prompt // FINEST + overhead
            calls.append(Call(asked, longest + thinking))
            calls.append(Call(asked + longest + self._form(round) // FINEST, longest + thinking))
        return calls

    def _prompts(self, seat: Seat, rounds: Sequence[PlannedRound], answer: int) -> list[int]:
        """Bytes of the seat's prompt in each round. It grows: a seat reads its own words again, and the others'."""
        charter = self._charter
        others = len(charter.seats) - 1
        system = self._templates.get("system", 0) + sum(item.size for item in charter.context)
        system += len((seat.role + seat.brief).encode())
        prompts: list[int] = []
        own = unread = 0
        for round in rounds:
            alone = round.turns.visibility == "none"
            new = self._templates[round.template] + self._form(round)
            new += len(charter.question.encode()) if alone or not own else 0
            new += POSITION * len(charter.seats) if prompts else len("".join(charter.options).encode())
            if round.turns.visibility in ("previous_rounds", "same_round"):
                new += others * answer * (unread + (round.turns.visibility == "same_round"))
                unread = 0
            new += len(charter.seats) * answer if round.turns.judging else 0
            prompts.append(system + new + (0 if alone else own))
            if not round.turns.secret:
                own += new + answer
                unread += 1
        return prompts

    def _form(self, round: PlannedRound) -> int:
        choices = self._charter.options or tuple(seat.name for seat in self._charter.seats)
        return len(codec(round.codec).text_format(Expect(round.codec, choices)).encode())


def _is_ballot(round: PlannedRound) -> bool:
    return round.turns.secret and not round.turns.judging


def _within(rounds: Sequence[PlannedRound], most: int) -> list[PlannedRound]:
    """Those that the limit leaves; it counts open rounds and, once reached, lets no ballot follow either."""
    return [round for place, round in enumerate(rounds) if sum(not it.turns.secret for it in rounds[:place]) < most]
