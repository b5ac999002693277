"""The run as one picture: plain SVG, nothing to install."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from bench.figures import Spread
from bench.growth import SIZES
from bench.report import Result
from bench.suite import CONTESTANTS, SESSIONS, STREAMS

WIDTH, PANEL_WIDTH, PANEL_HEIGHT, MARGIN = 1200, 560, 270, 30
HEAD = 84
COLORS = {"floor": "#8a8f98", "ours": "#1f6feb", "langgraph": "#2da44e", "autogen": "#bf8700"}
INK, FAINT, RED = "#1c2128", "#d0d7de", "#cf222e"

Bars = Sequence[tuple[str, Spread, str]]


def plot(result: Result) -> str:
    """The whole picture."""
    panels = [
        bars("Overhead of the 7-call session, ms", _session_bars(result), bound=2 * result.overhead_ms["floor"].median),
        bars("CPU per streamed token, µs", _token_bars(result)),
        bars("Import, ms", _contestant_bars(result.import_ms)),
        bars("Peak memory of a session's process, MB", _contestant_bars(result.memory_mb), bound=60),
        curves("CPU of a round per seat, µs", _curves(result, "cpu", 1e6)),
        curves("Stored bytes of a round per seat", _curves(result, "stored", 1)),
    ]
    rows = (len(panels) + 1) // 2
    height = HEAD + rows * (PANEL_HEIGHT + MARGIN) + 20 + 22 * len(result.targets) + MARGIN
    placed = [_placed(panel, index) for index, panel in enumerate(panels)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            'font-family="system-ui, sans-serif" font-size="13">',
            f'<rect width="100%" height="100%" fill="white"/>{_title(result)}',
            *placed,
            _targets(result, HEAD + rows * (PANEL_HEIGHT + MARGIN) + 20),
            "</svg>",
        ]
    )


def _title(result: Result) -> str:
    peers = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    return (
        text(MARGIN, 34, "Roundtable beside raw httpx2, LangGraph and AutoGen", size=20, weight="600")
        + text(MARGIN, 56, "Medians; whiskers are quartiles. The machine is noisy: read ratios. Dashed: the bound.")
        + text(WIDTH - MARGIN, 56, peers, anchor="end", color="#656d76", size=11)
    )


def _placed(panel: str, index: int) -> str:
    x = MARGIN + (index % 2) * (PANEL_WIDTH + 20)
    y = HEAD + (index // 2) * (PANEL_HEIGHT + MARGIN)
    return f'<g transform="translate({x},{y})">{panel}</g>'


def _session_bars(result: Result) -> Bars:
    return [(title, result.overhead_ms[key], _color(key)) for key, (_, _, title) in SESSIONS.items()]


def _token_bars(result: Result) -> Bars:
    return [
        (f"{title}, {streams} stream{'s' if streams > 1 else ''}", result.token_cpu_us[name][streams], _color(name))
        for streams in STREAMS
        for name, title in CONTESTANTS.items()
    ]


def _contestant_bars(spreads: Mapping[str, Spread]) -> Bars:
    return [(title, spreads[name], _color(name)) for name, title in CONTESTANTS.items()]


def _curves(result: Result, cost: str, factor: float) -> dict[str, list[float]]:
    titles = {"blind": "blind round", "reading": "cross-reading round"}
    return {title: [result.growth[round][cost][size] * factor for size in SIZES] for round, title in titles.items()}


def _color(key: str) -> str:
    return COLORS[key.partition("_")[0]]


def bars(title: str, rows: Bars, bound: float = 0.0) -> str:
    """One bar a line, longest to the right, with its quartiles and its figure."""
    left, top, right = 212, 34, PANEL_WIDTH - 70
    step = min(48.0, (PANEL_HEIGHT - top) / len(rows))
    most = max(max(spread.high for _, spread, _ in rows), bound)
    scale = (right - left) / most
    parts = [text(0, 16, title, weight="600")]
    for number, (name, spread, color) in enumerate(rows):
        y = top + number * step
        middle = y + step / 2
        low, end, high = (left + value * scale for value in (spread.low, spread.median, spread.high))
        parts += [
            text(left - 8, middle + 4, name, anchor="end", size=11),
            f'<rect x="{left}" y="{y + 3:.1f}" width="{end - left:.1f}" height="{step - 6:.1f}" fill="{color}"/>',
            line(low, middle, high, middle, INK),
            text(max(end, high) + 6, middle + 4, figure(spread.median), size=11),
        ]
    if bound:
        x = left + bound * scale
        parts.append(line(x, top, x, top + step * len(rows), RED, dashed=True))
    return "".join(parts)


def curves(title: str, series: Mapping[str, Sequence[float]]) -> str:
    """Cost per seat over the number of seats: level is linear."""
    left, top, right, bottom = 60, 40, PANEL_WIDTH - 20, PANEL_HEIGHT - 34
    most = max(max(values) for values in series.values()) * 1.15
    xs = [left + (right - left) * number / (len(SIZES) - 1) for number in range(len(SIZES))]
    parts = [text(0, 16, f"{title} (level = linear)", weight="600"), line(left, bottom, right, bottom, INK)]
    for share in (0.5, 1.0):
        y = bottom - (bottom - top) * share
        parts += [line(left, y, right, y, FAINT), text(left - 6, y + 4, figure(most * share), anchor="end", size=11)]
    parts += [text(x, bottom + 18, str(size), anchor="middle", size=11) for x, size in zip(xs, SIZES, strict=True)]
    parts.append(text((left + right) / 2, bottom + 34, "seats", anchor="middle", size=11))
    for number, ((name, values), color) in enumerate(zip(series.items(), (COLORS["ours"], RED), strict=False)):
        points = [(x, bottom - (bottom - top) * value / most) for x, value in zip(xs, values, strict=True)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in points]
        parts.append(text(right - 150, 16 + 16 * number, f"● {name}", color=color, size=11))
    return "".join(parts)


def _targets(result: Result, top: float) -> str:
    parts: list[str] = []
    for number, target in enumerate(result.targets):
        y = top + 22 * number
        color = COLORS["langgraph"] if target.met else RED
        parts += [
            text(MARGIN, y, "pass" if target.met else "FAIL", color=color, weight="600"),
            text(MARGIN + 60, y, target.name),
            text(620, y, f"{target.measured:.2f}{target.unit}", anchor="end"),
            text(640, y, f"≤ {target.bound:g}{target.unit}", color="#656d76"),
        ]
    return "".join(parts)


def text(
    x: float, y: float, words: str, *, anchor: str = "start", size: int = 13, color: str = INK, weight: str = "400"
) -> str:
    """A line of words."""
    attributes = f'text-anchor="{anchor}" font-size="{size}" fill="{color}" font-weight="{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {attributes}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, color: str, *, dashed: bool = False) -> str:
    """A thin line."""
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"{dash}/>'


def figure(value: float) -> str:
    """A number as short as it can be."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
