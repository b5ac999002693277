"""What is run in a sandbox, within which bounds, and how it ends."""

from __future__ import annotations

from enum import StrEnum

from roundtable.core.values import Value


class Bounds(Value, frozen=True):
    """What one run may use: seconds, processors, bytes of memory and processes of all of it together, bytes in each
    place it may write to, bytes of output kept. What it writes counts as memory too. The rest of the output is let go;
    far more of it than is kept ends the run."""

    seconds: float = 60.0
    processors: float = 1.0
    memory: int = 2 << 30
    processes: int = 256
    disk: int = 512 << 20
    output: int = 16_000


class Limit(StrEnum):
    """Which bound a run met."""

    TIME = "time"
    MEMORY = "memory"
    PROCESSES = "processes"
    DISK = "disk"
    OUTPUT = "output"


class Job(Value, frozen=True):
    """A program by its argument list, in a folder it is shown: read-only, or as a copy of its own that goes with it.

    `files` are laid over a copy of the folder, by their paths within it; they too are only there for this run.
    A copy is seen at `place`, if that is given, else where the folder is. `lent` is what else of this machine a copy is
    shown, read-only, by where it is shown in it.
    `programs` are those that a project has it start besides: the system's and the usual ones are shown, no others.
    `network` is for what a person has said yes to, and nothing else.
    """

    argv: tuple[str, ...]
    folder: str
    copied: bool = False
    files: dict[str, str] = {}
    bounds: Bounds = Bounds()
    programs: tuple[str, ...] = ()
    network: bool = False
    place: str = ""
    lent: dict[str, str] = {}

    @property
    def works_on_copy(self) -> bool:
        """Whether it may write in its folder, without anybody else ever seeing what."""
        return self.copied or bool(self.files)

    @property
    def seen_at(self) -> str:
        """Where it finds itself."""
        return self.place if self.place and self.works_on_copy else self.folder


class Output(Value, frozen=True):
    """Words of a run, as they come."""

    data: bytes


class Exit(Value, frozen=True):
    """How a run ended: its exit code, or None and why it was stopped; which bound it met, if any."""

    code: int | None
    seconds: float
    stopped: str = ""
    limit: Limit | None = None
    processor_seconds: float = 0.0
