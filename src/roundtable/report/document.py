"""The parts that a report is made of, whatever it is shown as: Markdown here, a page in `page_parts`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from roundtable.core.text.quotation import inline, quoted, table


class Heading(NamedTuple):
    """A heading; level 1 is the title. What stands in the `tag` is said of the thing in a word."""

    level: int
    text: str
    tag: str = ""


class Saying(NamedTuple):
    """A sentence of ours; a `soft` one is beside the point."""

    text: str
    soft: bool = False


class Quote(NamedTuple):
    """Words of somebody, as they are."""

    text: str
    by: str = ""


class Points(NamedTuple):
    """Sentences in a list; such as have to be read first are a `warning`."""

    lines: tuple[str, ...]
    warning: bool = False


class Grid(NamedTuple):
    """A table; its last so many columns are `figures`. The last row is a sum where it says so."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    figures: int = 0
    summed: bool = False


class Output(NamedTuple):
    """What a program printed."""

    text: str


class Folded(NamedTuple):
    """What is looked at only by who wants to."""

    summary: str
    inside: tuple[Heading | Saying | Quote | Points | Grid | Output, ...]


Block = Heading | Saying | Quote | Points | Grid | Output | Folded


def as_markdown(blocks: Iterable[Block]) -> str:
    """The document; nothing that was said in it can pass for its structure."""
    return "\n\n".join(part for block in blocks for part in _parts(block)) + "\n"


def _parts(block: Block) -> Iterator[str]:
    match block:
        case Heading():
            tag = f" ({inline(block.tag)})" if block.tag else ""
            yield f"{'#' * block.level} {inline(block.text)}{tag}"
        case Saying():
            yield f"*{inline(block.text)}*" if block.soft else inline(block.text)
        case Quote():
            if block.by:
                yield f"**{inline(block.by)}:**"
            yield quoted(block.text)
        case Points():
            marks = ("**", "**") if block.warning else ("", "")
            yield "\n".join(f"- {marks[0]}{inline(line)}{marks[1]}" for line in block.lines)
        case Grid():
            yield table(block.head, (tuple(map(inline, row)) for row in block.rows), block.figures)
        case Output():
            yield quoted(block.text)
        case Folded():
            yield f"**{inline(block.summary)}**"
            for inner in block.inside:
                yield from _parts(inner)
