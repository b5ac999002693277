"""The first program in every sandbox: it lays the job's files out, runs it, and says by its code what bound it met.

It also holds the other end of our standard input: when that closes, because we ended it or died, it ends everything.
"""

from __future__ import annotations

import io
import tarfile
from asyncio.subprocess import Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePosixPath

from roundtable.core.sandbox import Limit

SOURCE = "/run/source"
"""Where the folder of a job is shown that works on a copy of it."""
OWN_PROCESSES = 4
"""Of a sandbox itself, beside those of the job."""

_CODES = {193: Limit.DISK, 194: Limit.MEMORY, 195: Limit.PROCESSES}
"""Just above those that stand for a signal, and nothing else uses."""
_SCRIPT = """
copied=$1 size=$2
shift 2
exec 3<&0 </dev/null
ulimit -c 0
met() {
    places=/tmp
    [ "$copied" = no ] || places="/tmp ."
    for group in /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events; do
        [ ! -r $group ] || while read -r what count; do
            [ "$what" != oom_kill ] || [ "$count" = 0 ] || exit 194
        done <$group
    done
    for group in /sys/fs/cgroup/pids/pids.events /sys/fs/cgroup/pids.events; do
        [ ! -r $group ] || while read -r what count; do
            [ "$what" != max ] || [ "$count" = 0 ] || exit 195
        done <$group
    done
    for place in $places; do
        [ "$(stat -f -c %f $place)" != 0 ] || exit 193
    done
}
{ [ "$copied" = no ] || cp -R SOURCE/. . ; } && { [ "$size" = 0 ] || head -c "$size" <&3 | tar -xf - ; } || {
    met
    exit 126
}
{ read -r _ <&3; kill -9 -1; } 2>/dev/null &
exec 3<&-
"$@"
code=$?
met 2>/dev/null
exit $code
""".replace("SOURCE", SOURCE)


def first_program(copied: bool, files: bytes) -> tuple[str, ...]:
    """The arguments of the first program; those of the job follow."""
    return ("/bin/sh", "-c", _SCRIPT, "sh", "yes" if copied else "no", str(len(files)))


def met_by_code(code: int | None) -> Limit | None:
    """Which bound the first program says was met."""
    return _CODES.get(code) if code is not None else None


def packed(files: Mapping[str, str]) -> bytes | str:
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


async def feed(process: Process, files: bytes) -> None:
    """Give a run its files, and leave its standard input open: that it closes is how it learns that we are gone."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.write(files)
        await process.stdin.drain()
