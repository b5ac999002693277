"""The checks that seats may ask for: by the names a person gave them, in a sandbox, one after the other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import asdict

from roundtable.core.effects import CheckOutcome, ChecksRun
from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds, Job
from roundtable.core.text.redaction import Redactor
from roundtable.core.text.sanitize import sanitize_text
from roundtable.workshop.sandbox import SandboxSettings, find_sandbox, run_sandbox_job

R = TypeVar("R", bound=msgspec.Struct)


class ListedChecks:
    """The checks that `[checks]` lists. Nothing else can be run."""

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        workspace: Path,
        redactor: Redactor,
        sandbox: SandboxSettings = SandboxSettings(),
        bounds: Bounds | None = None,
        find: Callable[[], Awaitable[Sandbox | str]] | None = None,
    ) -> None:
        self._commands = commands
        self._workspace = workspace
        self._redactor = redactor
        self._find_sandbox = find or partial(find_sandbox, sandbox)
        self._bounds = bounds or Bounds(sandbox.seconds)

    async def run(self, names: Sequence[str]) -> ChecksRun:
        """Run the listed ones of these checks, and say why the others are not run."""
        known = f"Available checks: {', '.join(self._commands)}." if self._commands else "No checks are listed here."
        refused = {name: f"There is no check with that name. {known}" for name in names if name not in self._commands}
        listed = [name for name in names if name in self._commands]
        if not listed:
            return ChecksRun(refused=refused)
        sandbox = await self._find_sandbox()
        if isinstance(sandbox, str):
            return ChecksRun(refused=refused | dict.fromkeys(listed, sandbox))
        outcomes = tuple([await self._check(sandbox, name) for name in listed])
        return ChecksRun(outcomes, refused, sandbox.unenforced)

    async def _check(self, sandbox: Sandbox, name: str) -> CheckOutcome:
        argv = tuple(self._commands[name])
        run = await run_sandbox_job(sandbox, Job(argv, str(self._workspace), bounds=self._bounds))
        return sanitize_trial_check_outcome(run.as_check(name, argv), self._redactor)


def sanitize_trial_check_outcome(outcome: CheckOutcome, redactor: Redactor) -> CheckOutcome:
    """Return the outcome with its output freed from terminal control characters and secrets."""
    return msgspec.structs.replace(
        outcome,
        output=redactor.redact(sanitize_text(outcome.output)).strip("\n"),
        finding=sanitize_trial_reason(outcome.finding, redactor) if outcome.finding else None,
    )


def sanitize_trial_reason(reason: R, redactor: Redactor) -> R:
    """Return a reason with its texts freed from terminal control characters and secrets."""

    def sanitize(value: Any) -> Any:
        if isinstance(value, str):
            return redactor.redact(sanitize_text(value))
        return tuple(map(sanitize, cast("tuple[Any, ...]", value))) if isinstance(value, tuple) else value

    return msgspec.structs.replace(reason, **{name: sanitize(field) for name, field in asdict(reason).items()})
