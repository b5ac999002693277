"""The map of a program: what every file defines, what it takes from the others, and who uses what from where."""

from __future__ import annotations

from roundtable.workshop.mapping.linking import program_map
from roundtable.workshop.mapping.rendering import relevant, render
from roundtable.workshop.mapping.sizing import sized
from roundtable.workshop.mapping.values import ProgramMap

__all__ = ["ProgramMap", "program_map", "relevant", "render", "sized"]
