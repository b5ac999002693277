"""The map of a project: what every file defines, what it imports from the others, and who uses it where."""

from __future__ import annotations

from roundtable.workshop.symbols.project_map.mentions import measure_source_file_with_symbols
from roundtable.workshop.symbols.project_map.project_map import ProjectMap
from roundtable.workshop.symbols.project_map.render import render_symbol_map_of_files, render_symbol_map_within_budget
from roundtable.workshop.symbols.project_map.symbol_links import build_symbol_map_of_project

__all__ = [
    "ProjectMap",
    "build_symbol_map_of_project",
    "measure_source_file_with_symbols",
    "render_symbol_map_of_files",
    "render_symbol_map_within_budget",
]
