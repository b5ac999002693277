"""Where programs run that nobody has read: containers or bubblewrap, behind the port `Sandbox`."""

from roundtable.workshop.sandbox.run_result import Ended, ended
from roundtable.workshop.sandbox.selection import SandboxSettings, find_sandbox

__all__ = ["Ended", "SandboxSettings", "ended", "find_sandbox"]
