"""Which sandbox is in force here, and whether it holds: it is proved by trying to break out."""

from __future__ import annotations

import msgspec

from roundtable.workshop.sandbox import SandboxSettings, find_sandbox
from roundtable.workshop.sandbox.escape_attempts import EXHAUSTION_ATTEMPTS, QUICK_ESCAPE_ATTEMPTS, run_escape_attempts


class Isolation(msgspec.Struct, frozen=True):
    """The sandbox by its name, or why there is none; which attempts it held against, and which not or not tried.

    `chosen` is the one that the config names, where it names one.
    """

    sandbox: str = ""
    chosen: str = ""
    missing: str = ""
    held: tuple[str, ...] = ()
    broken: dict[str, str] = {}
    untried: dict[str, str] = {}

    @property
    def ok(self) -> bool:
        """Whether nothing got out, and the one that was chosen answers; without a choice none has to be there."""
        return not self.broken and not (self.chosen and self.missing)


async def check_sandbox_isolation(settings: SandboxSettings, *, deep: bool) -> Isolation:
    """Try to get out in every quick way, and if `deep`, to take more than is given too."""
    sandbox = await find_sandbox(settings)
    chosen = "" if settings.use == "auto" else settings.use
    if isinstance(sandbox, str):
        return Isolation(chosen=chosen, missing=sandbox)
    made = await run_escape_attempts(
        sandbox, (*QUICK_ESCAPE_ATTEMPTS, *EXHAUSTION_ATTEMPTS) if deep else QUICK_ESCAPE_ATTEMPTS
    )
    return Isolation(
        sandbox.name,
        chosen,
        held=tuple(outcome.attempt for outcome in made if outcome.blocked),
        broken={outcome.attempt: outcome.note for outcome in made if outcome.blocked is False},
        untried={outcome.attempt: outcome.note for outcome in made if outcome.blocked is None},
    )
