"""What a run says: the table for people, and whether our promise was kept."""

from __future__ import annotations

from collections.abc import Sequence

from bench.faults.cells import MEANINGS, Cell, Trial, objection
from bench.faults.trials import CONTESTANTS, FAULTS, NO_FAULT
from bench.report import grid
from roundtable.core.values import Limits

INTRODUCTION = f"""\
One seat of three fails in every call; everything else is as each library comes, its own retries included.
A cell: how it ended, the seconds it took, the requests that the failing model got. The contestants ran side by side.
Ours promises a labelled result. A turn takes at most the seat's time, {Limits().seat_timeout:g} s unless stated,
and {1 + Limits().retries} requests: the first and {Limits().retries} retries."""

LONGEST_WORDS = 110


def table(cells: Sequence[Cell]) -> str:
    """The whole run as text."""
    lines = [INTRODUCTION, ""]
    lines += [f"- {ending}: {meaning}" for ending, meaning in MEANINGS.items()]
    lines += ["", *grid(["", *CONTESTANTS.values()], [_row(trial, cells) for trial in (NO_FAULT, *FAULTS)])]
    lines += ["In their own words:", ""]
    lines += [
        f"- {cell.trial}, {CONTESTANTS[cell.contestant]}: {_short(cell.words)}" for cell in cells if _is_telling(cell)
    ]
    lines += ["", *grid(["our promise", ""], [[trial.name, _kept(trial, cells)] for trial in FAULTS])]
    return "\n".join(lines)


def _is_telling(cell: Cell) -> bool:
    return cell.trial != NO_FAULT.name and bool(cell.words)


def broken(cells: Sequence[Cell]) -> list[str]:
    """Where our own row breaks the promise."""
    return [f"{trial.name}: {objection}" for trial in FAULTS if (objection := _objection(trial, cells))]


def _row(trial: Trial, cells: Sequence[Cell]) -> list[str]:
    return [trial.name, *(_figures(cell) for cell in cells if cell.trial == trial.name)]


def _figures(cell: Cell) -> str:
    return f"{cell.ending}, {cell.seconds:.1f} s, {cell.requests} req"


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= LONGEST_WORDS else f"{line[: LONGEST_WORDS - 1]}…"


def _objection(trial: Trial, cells: Sequence[Cell]) -> str:
    own_cell = next(cell for cell in cells if (cell.trial, cell.contestant) == (trial.name, "ours"))
    return objection(trial, own_cell)


def _kept(trial: Trial, cells: Sequence[Cell]) -> str:
    objection = _objection(trial, cells)
    return f"BROKEN: {objection}" if objection else "kept"
