"""What a run says: targets, a table for people, a JSON for machines."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from statistics import median
from typing import Any

import msgspec

from bench.figures import Spread, Target, exponent
from bench.growth import SIZES
from bench.processes import sync_seconds
from bench.suite import CONTESTANTS, SESSIONS, STREAMS, Series, per_seat

MB = 1e6
NOISE = "The machine is noisy: medians with quartiles (p25–p75); contestants took turns in the same run. Read ratios."
NOT_STREAMED = "LangGraph and AutoGen do not stream in a session, as they come; everybody streams where tokens count."


class Result(msgspec.Struct, frozen=True):
    """A run, with its arithmetic done."""

    targets: list[Target]
    overhead_ms: dict[str, Spread]
    wall_ms: dict[str, Spread]
    prompt_bytes: dict[str, int]
    token_cpu_us: dict[str, dict[int, Spread]]
    import_ms: dict[str, Spread]
    memory_mb: dict[str, Spread]
    help_wall_ms: dict[str, Spread]
    help_cpu_ms: dict[str, Spread]
    opening_ms: dict[str, Spread]
    growth: dict[str, dict[str, dict[int, float]]]
    exponents: dict[str, dict[str, float]]
    machine: dict[str, Any]
    versions: dict[str, str]
    raw: Series


def result(series: Series, versions: dict[str, str], machine: dict[str, Any]) -> Result:
    """Do the arithmetic."""
    growth = {
        round: {cost: per_seat(series.curves, round, cost) for cost in ("cpu", "stored", "prompt")}
        for round in ("blind", "reading")
    }
    exponents = {
        round: {
            cost: exponent(SIZES, [each * size for size, each in by_size.items()]) for cost, by_size in costs.items()
        }
        for round, costs in growth.items()
    }
    return Result(
        targets(series, growth),
        overhead_ms=_spreads(series.overhead, 1e3),
        wall_ms=_spreads(series.wall, 1e3),
        prompt_bytes=series.prompt_bytes,
        token_cpu_us={name: _spreads(by_streams, 1e6) for name, by_streams in series.token_cpu.items()},
        import_ms=_spreads(series.import_seconds, 1e3),
        memory_mb=_spreads(series.memory, 1 / MB),
        help_wall_ms=_spreads(series.help_wall, 1e3),
        help_cpu_ms=_spreads(series.help_cpu, 1e3),
        opening_ms=_spreads(series.opening, 1e3),
        growth=growth,
        exponents=exponents,
        machine=machine,
        versions=versions,
        raw=series,
    )


def machine() -> dict[str, Any]:
    """Where this was measured."""
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "sync_ms": round(sync_seconds() * 1e3, 2),
    }


def targets(series: Series, growth: dict[str, dict[str, dict[int, float]]]) -> list[Target]:
    """Every promise beside what was measured."""
    token = series.token_cpu
    # Opening the record, like importing, happens once in the life of a process; the table shows it as well.
    session = _over(series.overhead["ours_warm"], series.overhead["floor"])
    all_targets = [Target("overhead of the 7-call session, desk open / raw httpx2", session, 2.0)]
    all_targets += [
        Target(
            f"CPU per token, {streams} stream(s) / raw httpx2",
            _over(token["ours"][streams], token["floor"][streams]),
            1.5,
        )
        for streams in STREAMS
    ]
    all_targets += [
        Target("--help wall / empty click app", _ratio(series.help_wall), 1.5),
        Target("--help CPU / empty click app", _ratio(series.help_cpu), 1.5),
        Target("peak memory of the 7-call session, --json", median(series.memory["ours"]) / MB, 60.0, " MB"),
        Target("opening 2,000 moves / reading their rows", _ratio(series.opening), 3.0),
    ]
    for round, cost in (("blind", "cpu"), ("reading", "cpu"), ("blind", "stored"), ("reading", "stored")):
        each = growth[round][cost]
        all_targets.append(Target(f"{_COSTS[cost]} per seat at 48 / at 6, {round} round", each[48] / each[6], 1.3))
    return all_targets


_COSTS = {"cpu": "CPU", "stored": "stored bytes", "prompt": "prompt bytes"}


def _spreads(series: dict[Any, list[float]], factor: float) -> dict[Any, Spread]:
    return {name: Spread.of(values).scaled(factor) for name, values in series.items()}


def _over(ours: Sequence[float], floor: Sequence[float]) -> float:
    return median(ours) / median(floor)


def _ratio(series: dict[str, list[float]]) -> float:
    return _over(series["ours"], series["floor"])


# --- the table -----------------------------------------------------------------------------------


def table(result: Result) -> str:
    """The whole run as text."""
    machine = result.machine
    lines = [
        "Python {python}, {cores} cores, load {load}, {sync_ms} ms per fsync.".format_map(machine),
        NOISE,
        NOT_STREAMED,
        "",
    ]
    lines += grid(["7-call session", "overhead ms", "wall ms", "prompt bytes", "× floor"], _session_rows(result))
    lines += grid(["", "import ms", "peak MB", *(f"µs/token ×{n}" for n in STREAMS)], _process_rows(result))
    lines += grid(["Roundtable beside its floor", "ours", "floor"], _pair_rows(result))
    lines += grid(["a round by seats, per seat", *map(str, SIZES), "grows like"], _growth_rows(result))
    lines += grid(["target", "measured", "bound", ""], _target_rows(result))
    return "\n".join(lines)


def _session_rows(result: Result) -> list[list[str]]:
    floor = result.overhead_ms["floor"].median
    return [
        [
            title,
            _spread(result.overhead_ms[key]),
            _spread(result.wall_ms[key]),
            f"{result.prompt_bytes[key]:,}",
            f"{result.overhead_ms[key].median / floor:.1f}",
        ]
        for key, (_, _, title) in SESSIONS.items()
    ]


def _process_rows(result: Result) -> list[list[str]]:
    return [
        [
            title,
            _spread(result.import_ms[name]),
            _spread(result.memory_mb[name]),
            *(_spread(result.token_cpu_us[name][streams]) for streams in STREAMS),
        ]
        for name, title in CONTESTANTS.items()
    ]


def _pair_rows(result: Result) -> list[list[str]]:
    pairs = {
        "--help, wall ms (floor: empty click app)": result.help_wall_ms,
        "--help, CPU ms": result.help_cpu_ms,
        "open 2,000 moves, ms (floor: read and decode)": result.opening_ms,
    }
    return [[name, _spread(both["ours"]), _spread(both["floor"])] for name, both in pairs.items()]


def _growth_rows(result: Result) -> list[list[str]]:
    rows: list[list[str]] = []
    for round, costs in result.growth.items():
        for cost, by_size in costs.items():
            figures = [f"{each * 1e6:,.0f}" if cost == "cpu" else f"{each:,.0f}" for each in by_size.values()]
            name = f"{round}: {'CPU µs' if cost == 'cpu' else _COSTS[cost]}"
            rows.append([name, *figures, f"seats^{result.exponents[round][cost]:.2f}"])
    return rows


def _target_rows(result: Result) -> list[list[str]]:
    return [
        [
            target.name,
            f"{target.measured:.2f}{target.unit}",
            f"≤ {target.bound:g}{target.unit}",
            "pass" if target.met else "FAIL",
        ]
        for target in result.targets
    ]


def _spread(spread: Spread) -> str:
    digits = 0 if spread.median >= 100 else 1
    return f"{spread.median:,.{digits}f} ({spread.low:,.{digits}f}–{spread.high:,.{digits}f})"


def grid(head: list[str], rows: list[list[str]]) -> list[str]:
    """Columns as wide as they need, as Markdown reads them."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in [head, *rows]
    ]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:], ""]
