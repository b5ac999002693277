"""Addresses of stages: the names of their rounds, steps and gates are built and read only here.

STAGE                   a stage as the charter lists it: small letters and dashes
ATTEMPT = STAGE[-N]     an attempt at it; the first has no number
LAP = ATTEMPT/N         one run of the program in an execution stage, with the fixes after it
ATTEMPT/NAME, LAP/NAME  a round or step
after-ATTEMPT           the gate after an attempt
ATTEMPT-QUESTION[-N]    a gate during an attempt; the first of its kind has no number
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, get_args

StageQuestion = Literal["dispute", "install", "rerun", "rerun-shown"]
"""Questions to the person during a stage."""

_ADDRESS = re.compile(r"(?P<stage>.*?)(?:-(?P<attempt>[2-9]|[1-9]\d+))?(?:/(?P<lap>[1-9]\d*))?", re.DOTALL)
_AFTER = "after-"


class StageAddress(NamedTuple):
    """One attempt at a stage, or one lap of it."""

    stage: str
    attempt: int = 1
    lap: int = 0

    @classmethod
    def parse(cls, name: str) -> StageAddress:
        """The address that has this name."""
        match = _ADDRESS.fullmatch(name)
        assert match is not None, "the stage may be any text"
        return cls(match["stage"], int(match["attempt"] or 1), int(match["lap"] or 0))

    @classmethod
    def of_step(cls, name: str) -> StageAddress:
        """The attempt to which a round or step of this name belongs."""
        return cls.parse(name.partition("/")[0])

    @property
    def name(self) -> str:
        """The prefix of its rounds, steps and gates."""
        attempt = self.stage if self.attempt == 1 else f"{self.stage}-{self.attempt}"
        return f"{attempt}/{self.lap}" if self.lap else attempt

    def step(self, name: str | int) -> str:
        """The name of a round or step of this attempt or lap."""
        return f"{self.name}/{name}"

    def includes(self, step: str) -> bool:
        """Whether a round or step of this name belongs to this attempt or lap."""
        return step.startswith(f"{self.name}/")

    @property
    def gate_after(self) -> str:
        """The id of the gate after this attempt."""
        return f"{_AFTER}{self.name}"

    def question_gate(self, what: StageQuestion, number: int = 1) -> str:
        """The id of a gate during this attempt; from the second question of a kind on, it is numbered."""
        return f"{self.name}-{what}" if number == 1 else f"{self.name}-{what}-{number}"

    @property
    def is_reserved(self) -> bool:
        """Whether a stage of this name could be confused with a gate of another stage."""
        questions = tuple(f"-{what}" for what in get_args(StageQuestion))
        return f"{self.name}-".startswith(_AFTER) or self.name.endswith(questions)
