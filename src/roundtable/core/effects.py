"""What a meeting may have done besides talking: a closed union, recorded like asks."""

from __future__ import annotations

from roundtable.core.values import Charter, ContextItem, Decision, Value


class ReadFiles(Value, frozen=True, tag="read_files", tag_field="effect"):
    """Snapshot files of the workspace, as `path` or `path:first-last`."""

    paths: tuple[str, ...]


class RunChecks(Value, frozen=True, tag="run_checks", tag_field="effect"):
    """Run read-only checks by the names the person has listed them under; nothing else can be run."""

    checks: tuple[str, ...]


class OpenChild(Value, frozen=True, tag="open_child", tag_field="effect"):
    """Hold another meeting under this one and wait for its decision."""

    charter: Charter


Effect = ReadFiles | RunChecks | OpenChild


class FilesRead(Value, frozen=True, tag="files_read", tag_field="result"):
    """The snapshots, and what was refused with the reason."""

    items: tuple[ContextItem, ...] = ()
    refused: dict[str, str] = {}


class CheckOutcome(Value, frozen=True):
    """What one check said. `code` is None where it had to be stopped."""

    name: str
    argv: tuple[str, ...]
    code: int | None
    output: str = ""
    seconds: float = 0.0


class ChecksRun(Value, frozen=True, tag="checks_run", tag_field="result"):
    """What the checks said, and which were not run and why."""

    outcomes: tuple[CheckOutcome, ...] = ()
    refused: dict[str, str] = {}


class ChildEnded(Value, frozen=True, tag="child_ended", tag_field="result"):
    """The child session and what it decided."""

    session: str
    decision: Decision


Result = FilesRead | ChecksRun | ChildEnded
