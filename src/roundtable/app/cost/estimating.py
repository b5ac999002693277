"""How many tokens a meeting's prompts and answers come to, from its plan alone: nobody is asked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import cycle
from typing import NamedTuple

from roundtable.app.cost.estimate import Foreseen, Pace, Project
from roundtable.app.opening.meeting_catalog import rules_of
from roundtable.core.replies import codec
from roundtable.core.values import Charter, Expect, Right, Seat
from roundtable.core.voice_statistics import BYTES_PER_TOKEN
from roundtable.meetings import PlannedRound
from roundtable.meetings.try_candidates import IN_PARTS, WHOLE, form_for
from roundtable.store.stored_facts import digest_of

FINEST = 3
"""Bytes per token where words are cut finer than usual: the most assumes it of everything."""

BALLOT = 60
"""Tokens of a ballot."""


class Call(NamedTuple):
    """Tokens of one call, both ways."""

    asked: int
    answered: int


class _Asked(NamedTuple):
    """A round as often as it is held, with the bytes of its prompt."""

    round: PlannedRound
    prompt: int


class Estimate:
    """One meeting before it is held: the sizes of its parts, and the rounds it may come to."""

    def __init__(self, charter: Charter, texts: Sequence[bytes], project: Project) -> None:
        sizes = {digest_of(text): len(text) for text in texts}
        self._charter = charter
        self._project = project
        self._templates = {name: sizes[digest] for name, digest in charter.templates.items()}
        self._rounds = rules_of(charter).planned(charter.settings, charter.options)

    def likely(self, seat: Seat, answer: int, thought: int, overhead: int, *, judging: bool) -> list[Call]:
        """The calls to be expected, with answers of so many tokens after so many of thought, which nobody reads.

        Those in which it is `judging`, or the others.
        """

        def usual(_: PlannedRound) -> int:
            return answer

        return [
            Call(prompt // BYTES_PER_TOKEN + overhead, (BALLOT if _is_ballot(round) else answer) + thought)
            for round, prompt in self._asked(seat, self._expected_of(seat), Pace(BYTES_PER_TOKEN, usual))
            if round.turns.judging == judging
        ]

    def _expected_of(self, seat: Seat) -> list[PlannedRound]:
        """All that are likely, but of those in which one judges only where its turn comes."""
        judges = [it.name for it in self._charter.seats if Right.JUDGE in it.rights] or [""]
        turn = cycle(judges)
        likely = (round for round in self._rounds if round.likely)
        return [round for round in likely if not round.turns.judging or next(turn) == seat.name]

    def most(self, seat: Seat, thinking: int, overhead: int, window: int, *, judging: bool) -> list[Call]:
        """Every call there can be: each answer as long as allowed, and asked for once more to be mended.

        What is longer than the `window`, where that is known, is refused and not billed.
        """
        longest_prompt = window or sys.maxsize
        calls: list[Call] = []
        for round, prompt in self._asked(seat, self._rounds, Pace(FINEST, self._longest, at_worst=True)):
            if round.turns.judging != judging:
                continue
            longest = self._longest(round)
            asked = prompt // FINEST + overhead
            again = asked + longest + self._form(round, at_worst=True) // FINEST
            calls += [Call(min(it, longest_prompt), longest + thinking) for it in (asked, again)]
        return calls

    def _longest(self, round: PlannedRound) -> int:
        return round.tokens or self._charter.limits.max_tokens

    def _asked(self, seat: Seat, rounds: Sequence[PlannedRound], pace: Pace) -> list[_Asked]:
        """The seat's prompt each time a round is held, as far as the limits of the session leave room for it."""
        way = Foreseen(self._charter, self._project, pace, self._templates.get("system", 0), seat)
        held = [
            _Asked(round, prompt)
            for round in rounds
            for prompt in way.prompts(round, self._templates[round.template] + self._form(round, pace.at_worst))
        ]
        return _within(held, self._charter.limits.rounds)

    def _form(self, round: PlannedRound, at_worst: bool) -> int:
        """Bytes of how an answer is to be written. At worst there are long files in the end, if there are none yet."""
        sizes = (*(it.size for it in self._charter.context), *self._project.sizes)
        form = (IN_PARTS if at_worst else form_for(sizes)) if round.codec == WHOLE else round.codec
        choices = self._charter.options or tuple(seat.name for seat in self._charter.seats)
        return len(codec(form).text_format(Expect(form, choices)).encode())


def _is_ballot(round: PlannedRound) -> bool:
    return round.turns.secret and not round.turns.judging


def _within(held: Sequence[_Asked], most: int) -> list[_Asked]:
    """Those that the limit leaves; it counts open rounds and, once reached, lets no ballot follow either."""
    left: list[_Asked] = []
    opened = 0
    for it in held:
        if opened >= most:
            break
        left.append(it)
        opened += not it.round.turns.secret
    return left
