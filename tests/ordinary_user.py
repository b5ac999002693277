"""Commands that run without the rights of this process: without control groups, or as an ordinary user."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

_ORDINARY_ID = "54321"
_WITHOUT_CONTROL_GROUPS = 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"'
_REPLACE_FOLDERS = """
set -e
mount --make-rprivate /
kept=$(mktemp -d)
mount -t tmpfs -o mode=755 tmpfs "$kept"
for folder in $1; do
    mkdir -p "$kept$folder"
    mount --bind "$folder" "$kept$folder"
done
for folder in $2; do
    mount --rbind "$kept$folder" "$folder"
done
shift 2
exec "$@"
"""
"""Replaces folders that only root can enter ($2) by empty ones with some of their folders in them ($1), in a mount
namespace of its own."""
_NEEDED = (sys.base_prefix, sys.prefix, str(Path(__file__).parents[1]))
"""This Python, the installed packages, and this repository."""


def run_without_control_groups(argv: Sequence[str], timeout: float = 300) -> subprocess.CompletedProcess[str]:
    """Run a command as this user, where no control group can be created."""
    unshared = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if subprocess.run([*unshared, "mount -t tmpfs none /sys/fs/cgroup"], capture_output=True).returncode:
        pytest.skip("This user cannot create a mount namespace.")
    command = [*unshared, _WITHOUT_CONTROL_GROUPS, "sh", *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def run_as_ordinary_user(argv: Sequence[str], home: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    """Run a command as a user without privileges; this Python and the installed packages stay readable to it."""
    environment = {**os.environ, "HOME": home, "TMPDIR": home}
    command = list(argv)
    if os.getuid() == 0:
        dropped = ["setpriv", f"--reuid={_ORDINARY_ID}", f"--regid={_ORDINARY_ID}", "--clear-groups"]
        closed = {path: _find_closed_folder(Path(path)) for path in dict.fromkeys(_NEEDED)}
        needed = [path for path, above in closed.items() if above]
        replaced = dict.fromkeys(above for above in closed.values() if above)
        command = ["unshare", "--mount", "sh", "-c", _REPLACE_FOLDERS, "sh", " ".join(needed), " ".join(replaced)]
        command += dropped
        if subprocess.run(
            [*command, sys.executable, "-c", "import pytest, roundtable"], capture_output=True
        ).returncode:
            pytest.skip("This process cannot drop its privileges.")
        command += argv
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)


@contextmanager
def ordinary_users_folder() -> Generator[str]:
    """Yield a temporary folder that belongs to the ordinary user."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        if os.getuid() == 0:
            os.chown(folder, int(_ORDINARY_ID), int(_ORDINARY_ID))
        yield folder


def _find_closed_folder(path: Path) -> str:
    """Return the outermost folder on the way to a path that only its owner can enter; empty if there is none."""
    return next((str(above) for above in reversed([path, *path.parents]) if not above.stat().st_mode & 0o001), "")
