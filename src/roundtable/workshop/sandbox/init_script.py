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

from roundtable.core.sandbox import Bounds, Limit
from roundtable.core.text.sanitize import sanitize_line

SOURCE_MOUNT = "/run/source"
"""The mount point of the job's folder if the job works on a copy of it."""
SANDBOX_PROCESSES = 4
"""Processes of the sandbox itself, in addition to those of the job."""
SPARE_PROCESSES = 4
"""By how much a limit that only makes calls fail lies above the one that stops a run, so that the latter is noticed."""
_BYTES_PER_FILE = 4096
_SPARE_FILES = 8192

_MAX_REPORT_BYTES = 4096
_SCRIPT = """
copied=$1 size=$2 tasks=$3 code=126
shift 3
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
    [ "$tasks" = 0 ] || {
        set -- /proc/[0-9]*
        [ $# -le $((tasks - SPARE)) ] || end processes
    }
    for place in $places; do
        case " $(stat -f -c '%f %d' $place) " in *" 0 "*) end disk ;; esac
    done
}
{ [ "$copied" = no ] || cp -R SOURCE/. . ; } && { [ "$size" = 0 ] || head -c "$size" <&3 | tar -xf - ; } || {
    end_where_met
    end
}
{ read -r _ <&3; kill -9 -1; } 2>/dev/null 4>&- &
exec 3<&-
if [ "$tasks" = 0 ]; then
    "$@" 4>&-
else
    ({ ulimit -u $tasks || ulimit -p $tasks; } 2>/dev/null; exec "$@") 4>&-
fi
code=$?
end_where_met 2>/dev/null
end
""".replace("SOURCE", SOURCE_MOUNT).replace("SPARE", str(SPARE_PROCESSES))


def sandbox_file_count_limit(bounds: Bounds) -> int:
    """Return how many files a writable place may hold: as many as have room in it, and some that are empty."""
    return bounds.disk // _BYTES_PER_FILE + _SPARE_FILES


def sandbox_init_script_arguments(copied: bool, files: bytes, tasks: int = 0) -> tuple[str, ...]:
    """Return the arguments of the init script; those of the job follow them.

    `tasks` is the number of processes and threads at which the job's own calls fail, if that should be set.
    """
    return ("/bin/sh", "-c", _SCRIPT, "sh", "yes" if copied else "no", str(len(files)), str(tasks))


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


def pack_sandbox_job_files(files: Mapping[str, str]) -> bytes | str:
    """Return the files as a tar archive for the init script's standard input, or an error for an invalid path."""
    if not files:
        return b""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, text in files.items():
            relative = PurePosixPath(path)
            if relative.is_absolute() or ".." in relative.parts or not relative.parts or "\0" in path:
                return f"The run was not started: {path!r} is not a path inside the folder of the run."
            data = text.encode()
            entry = tarfile.TarInfo(str(relative))
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return archive.getvalue()


async def send_sandbox_job_files(process: Process, files: bytes) -> None:
    """Send a job its files. Its standard input stays open: when it closes, the job knows that Roundtable is gone."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.write(files)
        await process.stdin.drain()
