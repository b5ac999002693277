"""What seats ask to see before they go on, and what they have settled by running it: for the whole table at once."""

from __future__ import annotations

from collections.abc import Sequence

from roundtable.core.decide.claims import settled
from roundtable.core.effects import ClaimsProven, ProveClaims, ReadFiles, RunChecks
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


async def proven(table: Table, round: Round, earlier: Sequence[Round] = ()) -> Round:
    """The round with its claims settled by running them. Where nothing could be run, the meeting goes on as it is."""
    claimed = any(move.verdict.claims for move in round.moves if move.verdict.counts)
    result = await table.do(f"{round.name}/proofs", ProveClaims((round.name,))) if claimed else None
    return settled(round, result.proofs if isinstance(result, ClaimsProven) else (), earlier)
