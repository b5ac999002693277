"""The map of a project: what every file defines, what it imports from the others, and who uses it where."""

from __future__ import annotations

from roundtable.workshop.symbols.project_map.mentions import measure_source_file
from roundtable.workshop.symbols.project_map.project_map import ProjectMap
from roundtable.workshop.symbols.project_map.render import render_project_map, render_relevant_project_map
from roundtable.workshop.symbols.project_map.symbol_links import build_project_map

__all__ = [
    "ProjectMap",
    "build_project_map",
    "measure_source_file",
    "render_project_map",
    "render_relevant_project_map",
]
