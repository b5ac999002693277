"""The first program in every sandbox: it lays the job's files out, runs it, and reports which bound it met.

It also holds the other end of our standard input: when that closes, because we ended it or died, it ends everything.
What it reports goes over its standard error, of which the job knows nothing; all that the job says is one stream.
"""

from __future__ import annotations

import asyncio
import io
import tarfile
from asyncio.subprocess import Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePosixPath

from roundtable.core.sandbox import Limit
from roundtable.core.text.sanitize import sanitize_line

SOURCE_MOUNT = "/run/source"
"""Where the folder of a job is shown that works on a copy of it."""
SANDBOX_PROCESSES = 4
"""Of a sandbox itself, beside those of the job."""

_LONGEST_REPORT = 4096
_SCRIPT = """
copied=$1 size=$2 code=126
shift 2
exec 3<&0 </dev/null 4>&2 2>&1
ulimit -c 0
echo began >&4
end() {
    echo "ended $1" >&4
    kill -9 -1
    exit $code
} 2>/dev/null
end_where_met() {
    places=/tmp
    [ "$copied" = no ] || places="/tmp ."
    for group in /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events; do
        [ ! -r $group ] || while read -r what count; do
            [ "$what" != oom_kill ] || [ "$count" = 0 ] || end memory
        done <$group
    done
    for group in /sys/fs/cgroup/pids/pids.events /sys/fs/cgroup/pids.events; do
        [ ! -r $group ] || while read -r what count; do
            [ "$what" != max ] || [ "$count" = 0 ] || end processes
        done <$group
    done
    for place in $places; do
        [ "$(stat -f -c %f $place)" != 0 ] || end disk
    done
}
{ [ "$copied" = no ] || cp -R SOURCE/. . ; } && { [ "$size" = 0 ] || head -c "$size" <&3 | tar -xf - ; } || {
    end_where_met
    end
}
{ read -r _ <&3; kill -9 -1; } 2>/dev/null 4>&- &
exec 3<&-
"$@" 4>&-
code=$?
end_where_met 2>/dev/null
end
""".replace("SOURCE", SOURCE_MOUNT)


def sandbox_init_command(copied: bool, files: bytes) -> tuple[str, ...]:
    """The arguments of the first program; those of the job follow."""
    return ("/bin/sh", "-c", _SCRIPT, "sh", "yes" if copied else "no", str(len(files)))


class InitReport:
    """What the first program says of a run; where it never began, what the sandbox itself says instead."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._said = b""
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_LONGEST_REPORT):
            self._said = (self._said + chunk)[-_LONGEST_REPORT:]

    async def complete(self) -> None:
        """Wait until no more can come."""
        await self._reading

    @property
    def limit(self) -> Limit | None:
        """Which bound it says was met."""
        return next((it for it in Limit if f"ended {it}" in self._lines()), None)

    @property
    def failure(self) -> str:
        """Why the run never began, if it did not."""
        began = any(it == "began" or it.startswith("ended") for it in self._lines())
        return (
            "" if began else f"It could not be run: {sanitize_line(' '.join(self._lines()), 300) or 'nobody said why'}."
        )

    def _lines(self) -> list[str]:
        return self._said.decode(errors="replace").splitlines()


def pack_job_files(files: Mapping[str, str]) -> bytes | str:
    """The files as the first program takes them from its standard input, or which of them has no place here."""
    if not files:
        return b""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, text in files.items():
            pure = PurePosixPath(path)
            if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in path:
                return f"It was not started: {path!r} is no path within its folder."
            data = text.encode()
            entry = tarfile.TarInfo(str(pure))
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return archive.getvalue()


async def send_job_files(process: Process, files: bytes) -> None:
    """Give a run its files, and leave its standard input open: that it closes is how it learns that we are gone."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.write(files)
        await process.stdin.drain()
