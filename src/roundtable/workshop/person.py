"""Who sits at this machine."""

from __future__ import annotations

import getpass
import os


def person() -> str:
    """The name of whoever runs this; their number where the machine knows no name for it, as in many containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
