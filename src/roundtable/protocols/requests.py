"""What seats ask to see before they go on: served between rounds, for the whole table at once."""

from __future__ import annotations

from roundtable.core.effects import ReadFiles, RunChecks
from roundtable.core.ports import Table
from roundtable.core.values import Round

MOST_FILES = 8
MOST_CHECKS = 3


async def serve(table: Table, round: Round) -> None:
    """Show the table the files and have the checks run that this round's seats asked for, each once."""
    wanted = [move.verdict.wants for move in round.moves if move.verdict.counts]
    files = tuple(dict.fromkeys(path for wants in wanted for path in wants.files))[:MOST_FILES]
    checks = tuple(dict.fromkeys(name for wants in wanted for name in wants.checks))[:MOST_CHECKS]
    if files:
        await table.do(f"{round.name}/files", ReadFiles(files))
    if checks:
        await table.do(f"{round.name}/checks", RunChecks(checks))
