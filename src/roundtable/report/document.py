"""Building blocks of a report, rendered here as Markdown and in `html` as a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from roundtable.core.text.quotation import escape_markdown_line, markdown_table_text, quote_markdown


class Heading(NamedTuple):
    """A heading; level 1 is the title. `tag` is one word shown next to it, such as `passed`."""

    level: int
    text: str
    tag: str = ""


class Paragraph(NamedTuple):
    """A sentence of the report itself; a `soft` one is secondary."""

    text: str
    soft: bool = False


class Quote(NamedTuple):
    """Somebody's own words, unchanged."""

    text: str
    by: str = ""


class BulletList(NamedTuple):
    """Sentences in a list; a `warning` has to be read first."""

    lines: tuple[str, ...]
    warning: bool = False


class DataTable(NamedTuple):
    """A table. The last `figures` columns hold numbers; the last row is a total if `summed`."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    figures: int = 0
    summed: bool = False


class ProgramOutput(NamedTuple):
    """Text that a program printed."""

    text: str


class Collapsible(NamedTuple):
    """Details that are hidden until the reader opens them."""

    summary: str
    inside: tuple[Heading | Paragraph | Quote | BulletList | DataTable | ProgramOutput, ...]


ReportBlock = Heading | Paragraph | Quote | BulletList | DataTable | ProgramOutput | Collapsible


def render_blocks_as_markdown(blocks: Iterable[ReportBlock]) -> str:
    """Render a report as Markdown in which quoted words cannot pass for structure."""
    return "\n\n".join(part for block in blocks for part in _parts(block)) + "\n"


def _parts(block: ReportBlock) -> Iterator[str]:
    match block:
        case Heading():
            tag = f" ({escape_markdown_line(block.tag)})" if block.tag else ""
            yield f"{'#' * block.level} {escape_markdown_line(block.text)}{tag}"
        case Paragraph():
            yield f"*{escape_markdown_line(block.text)}*" if block.soft else escape_markdown_line(block.text)
        case Quote():
            if block.by:
                yield f"**{escape_markdown_line(block.by)}:**"
            yield quote_markdown(block.text)
        case BulletList():
            marks = ("**", "**") if block.warning else ("", "")
            yield "\n".join(f"- {marks[0]}{escape_markdown_line(line)}{marks[1]}" for line in block.lines)
        case DataTable():
            yield markdown_table_text(
                block.head, (tuple(map(escape_markdown_line, row)) for row in block.rows), block.figures
            )
        case ProgramOutput():
            yield quote_markdown(block.text)
        case Collapsible():
            yield f"**{escape_markdown_line(block.summary)}**"
            for inner in block.inside:
                yield from _parts(inner)
