"""Commands that may tell candidates apart: those in a person's own words that start a program of the project."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

SECONDS = 5
_COMMAND = re.compile(r"\bpython3?\s+(?:\./)?([\w./-]+\.py)((?:[ \t]+[\w.=+-]+)*)")
_NUMBER = re.compile(r"-?\d{1,6}")


class Command(NamedTuple):
    """A program in Python and its arguments; `near` where nobody wrote it so."""

    program: str
    arguments: tuple[str, ...]
    near: bool = False

    def __str__(self) -> str:
        return " ".join(("python", self.program, *self.arguments))

    @property
    def probe(self) -> str:
        """Its exit code and what it prints, as an expression that stands alone."""
        argv = f"[__import__('sys').executable, *{[self.program, *self.arguments]!r}]"
        run = f"__import__('subprocess').run({argv}, stdin=-3, capture_output=True, text=True, timeout={SECONDS})"
        return f"(lambda ran: (ran.returncode, ran.stdout))({run})"


def commands_in(text: str, programs: Collection[str]) -> tuple[Command, ...]:
    """The commands in a text that start one of these programs, each once, and then others near to them."""
    found = [Command(it[1], tuple(it[2].split())) for it in _COMMAND.finditer(text) if it[1] in programs]
    commands: dict[str, Command] = {}
    for command in (*found, *(near for it in found for near in _near(it))):
        commands.setdefault(str(command), command)
    return tuple(commands.values())


def _near(command: Command) -> Iterator[Command]:
    """The same with fewer arguments, with one more, and with another number in the place of one."""
    given = command.arguments
    for count in range(len(given)):
        yield command._replace(arguments=given[:count], near=True)
    yield command._replace(arguments=(*given, "1"), near=True)
    for place, value in enumerate(given):
        if _NUMBER.fullmatch(value):
            for other in (0, 1, int(value) + 1, -int(value)):
                yield command._replace(arguments=(*given[:place], str(other), *given[place + 1 :]), near=True)
