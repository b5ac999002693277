"""The map of a program: what every file defines, what it takes from the others, and who uses what from where."""

from __future__ import annotations

from roundtable.workshop.project.map.mentions import sized
from roundtable.workshop.project.map.project_map import ProgramMap
from roundtable.workshop.project.map.render import relevant, render
from roundtable.workshop.project.map.symbol_links import program_map

__all__ = ["ProgramMap", "program_map", "relevant", "render", "sized"]
