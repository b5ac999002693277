"""A program to run in a sandbox, its limits, and how it ended."""

from __future__ import annotations

from enum import StrEnum

from roundtable.core.values import Value


class Bounds(Value, frozen=True):
    """The limits of one run over all its processes: seconds, processors, memory, processes, disk and output.

    `disk` are the bytes in each writable place, which also bound the number of files; they count as memory too.
    Output beyond `output` bytes is dropped, and far more output ends the run.
    """

    seconds: float = 60.0
    processors: float = 1.0
    memory: int = 2 << 30
    processes: int = 256
    disk: int = 512 << 20
    output: int = 16_000


class Limit(StrEnum):
    """The limit that ended a run."""

    TIME = "time"
    MEMORY = "memory"
    PROCESSES = "processes"
    DISK = "disk"
    OUTPUT = "output"


class Resource(StrEnum):
    """A resource of `Bounds` that not every machine lets an ordinary user limit."""

    MEMORY = "memory"
    PROCESSES = "processes"
    PROCESSORS = "processors"
    FILES = "files"


class Job(Value, frozen=True):
    """A program by its argument list, in a folder that is visible to it read-only or as a private copy.

    `files` are written over a copy of the folder, by their paths within it; they too exist only for this run. A copy is
    visible at `place`, if that is given, otherwise where the folder is. `lent` are further paths of this machine that
    are visible read-only, by where they appear. `programs` are those that a project starts itself: those of the system
    and the usual ones are visible, no others. `network` needs a person's approval.
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
        """Whether the program may write in its folder, which is then a copy."""
        return self.copied or bool(self.files)

    @property
    def visible_at(self) -> str:
        """The path of the folder inside the sandbox."""
        return self.place if self.place and self.works_on_copy else self.folder


class Output(Value, frozen=True):
    """A piece of a program's output."""

    data: bytes


class Exit(Value, frozen=True):
    """How a run ended: its exit code, or None and why it was stopped; `limit` is the limit it exceeded, if any."""

    code: int | None
    seconds: float
    stopped: str = ""
    limit: Limit | None = None
    processor_seconds: float = 0.0
