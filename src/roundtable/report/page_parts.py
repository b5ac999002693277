"""What the HTML pages are made of: one file each that asks nothing of anybody, no scripts, every word escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from roundtable.core.session import Session
from roundtable.core.text.sanitize import clean, one_line
from roundtable.report.document import Block, Folded, Grid, Heading, Output, Points, Quote, Saying
from roundtable.report.page_style import STYLE

_COLORS = ("cyan", "magenta", "green", "red", "blue", "orange", "purple", "white")
NOBODY = f"s{len(_COLORS) - 1}"
"""The colour of what is no seat's."""


def document(session: Session, body: Iterable[str]) -> str:
    """The whole file."""
    lines = [
        "<!doctype html>",
        f'<html lang="{escape(session.charter.language)}">',
        "<head>",
        '<meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="referrer" content="no-referrer">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{line(session.charter.question, 80)}</title>",
        f"<style>\n{STYLE}\n</style>",
        "</head>",
        "<body>",
        *body,
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def line(text: str, most: int = 0) -> str:
    """One line of somebody's."""
    return escape(one_line(text, most))


def words(text: str) -> str:
    """Somebody's words as they are, in the direction they are written in."""
    return f'<div class="words" dir="auto">{escape(clean(text).strip()) or "(nothing)"}</div>'


def seat_colors(session: Session) -> dict[str, str]:
    """The class that gives every seat its colour."""
    return {
        seat.name: f"s{_COLORS.index(color) if color in _COLORS else place % len(_COLORS)}"
        for place, seat in enumerate(session.charter.seats)
        for color in (seat.color or seat.usual_color,)
    }


def table(head: Sequence[str], rows: Sequence[Sequence[str]], figures: int = 0, *, summed: bool = False) -> str:
    """Rows under their heads; the last so many columns are figures, and the last row is a sum where it is `summed`."""
    marks = [""] * (len(head) - figures) + [" class=n"] * figures
    heads = "".join(f"<th{mark}>{line(name)}</th>" for mark, name in zip(marks, head, strict=True))
    lines = ['<div class="scroll"><table>', f"<tr>{heads}</tr>"]
    for number, row in enumerate(rows, 1):
        of_sum = ' class="sum"' if summed and number == len(rows) else ""
        cells = "".join(f"<td{mark}>{line(cell)}</td>" for mark, cell in zip(marks, row, strict=True))
        lines.append(f"<tr{of_sum}>{cells}</tr>")
    return "\n".join((*lines, "</table></div>"))


def as_page(session: Session, blocks: Iterable[Block]) -> str:
    """A report as a page."""
    colors = seat_colors(session)
    return document(session, (it for block in blocks for it in _parts(block, colors)))


def _parts(block: Block, colors: dict[str, str]) -> Iterator[str]:
    match block:
        case Heading():
            tag = f' <span class="tag">{line(block.tag)}</span>' if block.tag else ""
            yield f'<h{block.level} dir="auto">{line(block.text)}{tag}</h{block.level}>'
        case Saying():
            yield f'<p class="soft">{line(block.text)}</p>' if block.soft else f"<p>{line(block.text)}</p>"
        case Quote():
            who = f"<header>{line(block.by)}</header>" if block.by else ""
            yield f'<section class="card seat {colors.get(block.by, NOBODY)}">{who}{words(block.text)}</section>'
        case Points():
            items = "".join(f'<li dir="auto">{line(it)}</li>' for it in block.lines)
            yield f'<div class="card degraded"><ul>{items}</ul></div>' if block.warning else f"<ul>{items}</ul>"
        case Grid():
            yield table(block.head, block.rows, block.figures, summed=block.summed)
        case Output():
            yield f'<pre class="diff">{escape(clean(block.text).strip())}</pre>'
        case Folded():
            yield f"<details><summary>{line(block.summary)}</summary>"
            for inner in block.inside:
                yield from _parts(inner, colors)
            yield "</details>"
