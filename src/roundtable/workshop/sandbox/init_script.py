"""The first program in every sandbox: it copies the job's files, runs the job, and reports which limit was reached.

It watches its standard input: when that closes, because Roundtable stopped the run or died, it kills everything. Its
report goes to its own standard error, which the job cannot reach; the job's output is one stream.
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
"""The mount point of the job's folder if the job works on a copy of it."""
SANDBOX_PROCESSES = 4
"""Processes of the sandbox itself, in addition to those of the job."""

_MAX_REPORT_BYTES = 4096
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
    """Return the arguments of the init script; those of the job follow them."""
    return ("/bin/sh", "-c", _SCRIPT, "sh", "yes" if copied else "no", str(len(files)))


class InitReport:
    """Reads the report of the init script; if the job never began, it holds the sandbox's own error output."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._output = b""
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_MAX_REPORT_BYTES):
            self._output = (self._output + chunk)[-_MAX_REPORT_BYTES:]

    async def complete(self) -> None:
        """Wait until the report is complete."""
        await self._reading

    @property
    def limit(self) -> Limit | None:
        """The limit that the script reported, if any."""
        return next((limit for limit in Limit if f"ended {limit}" in self._lines()), None)

    @property
    def failure(self) -> str:
        """The reason why the job never began; empty if it did."""
        began = any(line == "began" or line.startswith("ended") for line in self._lines())
        return (
            ""
            if began
            else f"The program could not be run: {sanitize_line(' '.join(self._lines()), 300) or 'no reason given'}."
        )

    def _lines(self) -> list[str]:
        return self._output.decode(errors="replace").splitlines()


def pack_job_files(files: Mapping[str, str]) -> bytes | str:
    """Return the files as a tar archive for the init script's standard input, or an error for an invalid path."""
    if not files:
        return b""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, text in files.items():
            relative = PurePosixPath(path)
            if relative.is_absolute() or ".." in relative.parts or not relative.parts or "\0" in path:
                return f"The run was not started: {path!r} is not a path inside its folder."
            data = text.encode()
            entry = tarfile.TarInfo(str(relative))
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return archive.getvalue()


async def send_job_files(process: Process, files: bytes) -> None:
    """Send a job its files. Its standard input stays open: when it closes, the job knows that Roundtable is gone."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.write(files)
        await process.stdin.drain()
