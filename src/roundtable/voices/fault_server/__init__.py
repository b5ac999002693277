"""A local server that speaks four dialects and simulates every fault, for the doctor, tests and benchmarks."""

from roundtable.voices.fault_server.behaviours import BEHAVIOURS
from roundtable.voices.fault_server.scripted_answer import DEFAULT_ANSWER_TEXT, ReceivedRequest
from roundtable.voices.fault_server.server import FaultServer

__all__ = ["BEHAVIOURS", "DEFAULT_ANSWER_TEXT", "FaultServer", "ReceivedRequest"]
