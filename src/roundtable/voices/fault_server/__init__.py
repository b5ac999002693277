"""A local server that speaks four dialects and fails in every way one can; doctor, tests and bench use it."""

from roundtable.voices.fault_server.behaviours import BEHAVIOURS
from roundtable.voices.fault_server.scripted_answer import TEXT, Seen
from roundtable.voices.fault_server.server import FaultServer

__all__ = ["BEHAVIOURS", "TEXT", "FaultServer", "Seen"]
