"""What holds for every test: Hypothesis takes its time, and in CI it tries the same examples every time.

Python keeps what it has compiled, whatever the machine says: hundreds of tests start the command line anew.
"""

from __future__ import annotations

import os
import signal
import sys

from hypothesis import settings

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A suite that was started in the background must not teach the programs it starts to overhear Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
