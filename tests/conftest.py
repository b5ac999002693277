"""Settings for every test: Hypothesis has no deadline, and in CI it tries the same examples every time.

Python keeps its bytecode, whatever the machine says, because hundreds of tests start the command line. Temporary
folders are kept in memory, because half of the suite's time would be spent waiting for the disk.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_MEMORY = Path("/dev/shm")
_NEEDED_MEMORY = 4 << 30


def pytest_configure(config: pytest.Config) -> None:
    if "TMPDIR" in os.environ or config.getoption("markexpr") == "real":
        return
    usable = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and not os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC
    if usable and shutil.disk_usage(_MEMORY).free >= _NEEDED_MEMORY:
        folder = _MEMORY / f"tests-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A suite that was started in the background must not teach the programs it starts to overhear Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
