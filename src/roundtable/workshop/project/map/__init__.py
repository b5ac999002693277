"""The map of a project: what every file defines, what it imports from the others, and who uses it where."""

from __future__ import annotations

from roundtable.workshop.project.map.mentions import measure_source_file
from roundtable.workshop.project.map.project_map import ProjectMap
from roundtable.workshop.project.map.render import render_project_map, render_relevant_project_map
from roundtable.workshop.project.map.symbol_links import build_project_map

__all__ = [
    "ProjectMap",
    "build_project_map",
    "measure_source_file",
    "render_project_map",
    "render_relevant_project_map",
]
