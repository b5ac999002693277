"""Runs untrusted programs in isolation: in containers or with bubblewrap, behind the port `Sandbox`."""

from roundtable.workshop.sandbox.run_result import RunResult, run_sandbox_job
from roundtable.workshop.sandbox.selection import SandboxSettings, find_sandbox

__all__ = ["RunResult", "SandboxSettings", "find_sandbox", "run_sandbox_job"]
