"""Meetings by name, and the words they are held in: shipped ones, and what a person or a workspace adds."""

from __future__ import annotations

from importlib import resources

from roundtable.core.values import Charter
from roundtable.engine.run import Meeting
from roundtable.protocols import Protocol, protocol


def templates(rules: Protocol) -> dict[str, bytes]:
    """The meeting's prompts as they are now; the session keeps to these, whatever becomes of the files."""
    folder = resources.files("roundtable.protocols").joinpath("prompts", rules.name)
    return {name: folder.joinpath(f"{name}.md").read_bytes() for name in rules.templates}


def meeting_of(charter: Charter) -> Meeting:
    """The meeting a session was opened as."""
    rules = protocol(charter.meeting)
    return Meeting(rules.name, rules.version, rules.hold)
