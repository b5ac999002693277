"""The sandbox in force, verified by escape attempts."""

from __future__ import annotations

import msgspec

from roundtable.core.sandbox import Resource
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox
from roundtable.workshop.sandbox.escape_attempts import EXHAUSTION_ATTEMPTS, QUICK_ESCAPE_ATTEMPTS, run_escape_attempts


class Isolation(msgspec.Struct, frozen=True):
    """The sandbox's name, or why there is none, and the results of the escape attempts.

    `held` are blocked attempts, `broken` successful ones, `untried` those that could not run. `unenforced` are the
    resources that the sandbox cannot limit on this machine, and `exceeded` the attempts that took too much of them.
    `chosen` is the sandbox that the config names, if any.
    """

    sandbox: str = ""
    chosen: str = ""
    missing: str = ""
    held: tuple[str, ...] = ()
    broken: dict[str, str] = {}
    untried: dict[str, str] = {}
    unenforced: tuple[Resource, ...] = ()
    exceeded: dict[str, str] = {}

    @property
    def ok(self) -> bool:
        """Whether no attempt succeeded unexpectedly and a configured sandbox is available; without a choice none is
        needed."""
        return not self.broken and not (self.chosen and self.missing)


async def run_machine_sandbox_check(
    settings: SandboxSettings, private: tuple[str, ...] = (), *, deep: bool
) -> Isolation:
    """Run all quick escape attempts; with `deep`, also attempts to exhaust resources. `private` are folders that no
    program may see."""
    sandbox = await find_sandbox(settings, private)
    chosen = "" if settings.use == "auto" else settings.use
    if isinstance(sandbox, str):
        return Isolation(chosen=chosen, missing=sandbox)
    attempts = (*QUICK_ESCAPE_ATTEMPTS, *EXHAUSTION_ATTEMPTS) if deep else QUICK_ESCAPE_ATTEMPTS
    outcomes = await run_escape_attempts(sandbox, attempts, private)
    successful = [outcome for outcome in outcomes if outcome.blocked is False]
    return Isolation(
        sandbox.name,
        chosen,
        held=tuple(outcome.attempt for outcome in outcomes if outcome.blocked),
        broken={outcome.attempt: outcome.note for outcome in successful if outcome.resource not in sandbox.unenforced},
        untried={outcome.attempt: outcome.note for outcome in outcomes if outcome.blocked is None},
        unenforced=sandbox.unenforced,
        exceeded={outcome.attempt: outcome.note for outcome in successful if outcome.resource in sandbox.unenforced},
    )
