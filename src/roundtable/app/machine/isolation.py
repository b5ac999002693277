"""The sandbox in force, verified by escape attempts."""

from __future__ import annotations

import msgspec

from roundtable.workshop.sandbox import SandboxSettings, find_sandbox
from roundtable.workshop.sandbox.escape_attempts import EXHAUSTION_ATTEMPTS, QUICK_ESCAPE_ATTEMPTS, run_escape_attempts


class Isolation(msgspec.Struct, frozen=True):
    """The sandbox's name, or why there is none, and the results of the escape attempts.

    `held` are blocked attempts, `broken` successful ones, `untried` those that could not run. `chosen` is the sandbox
    that the config names, if any.
    """

    sandbox: str = ""
    chosen: str = ""
    missing: str = ""
    held: tuple[str, ...] = ()
    broken: dict[str, str] = {}
    untried: dict[str, str] = {}

    @property
    def ok(self) -> bool:
        """Whether no attempt succeeded and a configured sandbox is available; without a choice none is needed."""
        return not self.broken and not (self.chosen and self.missing)


async def run_machine_sandbox_check(settings: SandboxSettings, *, deep: bool) -> Isolation:
    """Run all quick escape attempts; with `deep`, also attempts to exhaust resources."""
    sandbox = await find_sandbox(settings)
    chosen = "" if settings.use == "auto" else settings.use
    if isinstance(sandbox, str):
        return Isolation(chosen=chosen, missing=sandbox)
    attempts = await run_escape_attempts(
        sandbox, (*QUICK_ESCAPE_ATTEMPTS, *EXHAUSTION_ATTEMPTS) if deep else QUICK_ESCAPE_ATTEMPTS
    )
    return Isolation(
        sandbox.name,
        chosen,
        held=tuple(outcome.attempt for outcome in attempts if outcome.blocked),
        broken={outcome.attempt: outcome.note for outcome in attempts if outcome.blocked is False},
        untried={outcome.attempt: outcome.note for outcome in attempts if outcome.blocked is None},
    )
