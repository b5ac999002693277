"""Install the peers, hold every trial, print the table and write it as JSON; a broken promise of ours is an error."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from bench.faults.cells import Cell, Ending
from bench.faults.table import broken, table
from bench.faults.trials import FAULTS, NO_FAULT, hold
from bench.peers import install_peers, versions
from bench.processes import OUT, BenchError, alone
from bench.run import say


class Result(msgspec.Struct, frozen=True):
    """A run as it is written down."""

    versions: dict[str, str]
    cells: list[Cell]
    broken: list[str]


def main() -> int:
    """Run the bench of faults."""
    try:
        with alone() as home:
            peers = install_peers()
            cells = asyncio.run(_trials(home, peers))
            result = Result(versions(peers), cells, broken(cells))
    except BenchError as error:
        say("")
        print(f"Error: {error}", file=sys.stderr)
        return 1
    say("")
    print(table(cells))
    (OUT / "faults.json").write_bytes(msgspec.json.format(msgspec.json.encode(result)))
    print(f"Written: faults.json in {OUT}.")
    return 1 if result.broken else 0


async def _trials(home: Path, peers: Path) -> list[Cell]:
    say(NO_FAULT.name)
    cells = await hold(NO_FAULT, home, peers)
    for cell in cells:
        if cell.ending is not Ending.COUNTED:
            raise BenchError(f"The contestant {cell.contestant} does not work even where nothing fails: {cell.words}")
    for trial in FAULTS:
        say(f"{trial.name}, {trial.bound:g} s at most")
        cells += await hold(trial, home, peers)
    return cells


if __name__ == "__main__":
    sys.exit(main())
