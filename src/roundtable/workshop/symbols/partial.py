"""A text that is said to be a whole file and holds only some of its functions: those are meant, and the rest stays."""

from __future__ import annotations

from collections import Counter

from roundtable.workshop.symbols.outline import Outline, outline
from roundtable.workshop.symbols.restore import without_name
from roundtable.workshop.symbols.syntax_trees import Refused


def partial_symbols(path: str, source: bytes, text: bytes, *, alone: bool) -> tuple[str, ...]:
    """The symbols that a text puts into a file, where it is plainly not all of it; none where it is.

    Plainly: it is made of symbols and imports alone, some of the file's symbols are not among them, and it does not
    begin as the file does. Nor does it only rename or remove some, which a text does that is `alone` about the file.
    """
    old, new = outline(path, source), outline(path, text)
    if isinstance(old, Refused) or isinstance(new, Refused) or not new.symbols:
        return ()
    before, after = (tuple(it.name for it in they.symbols if it.holder is None) for they in (old, new))
    begins = _first_line(source) in text or (bool(before) and not _head(old) and before[0] == after[0])
    if begins or set(before) <= set(after) or not _only_symbols(new):
        return ()
    return () if alone and _renames_or_removes(old, new) else after


def _renames_or_removes(old: Outline, new: Outline) -> bool:
    """Whether all that is missing has another name now, or nothing is new."""
    was, now = ({it.name: without_name(each, it) for it in each.symbols if it.holder is None} for each in (old, new))
    missing = Counter(text for name, text in was.items() if name not in now)
    added = Counter(text for name, text in now.items() if name not in was)
    return missing <= added or now.items() <= was.items()


def _first_line(source: bytes) -> bytes:
    return source.lstrip().partition(b"\n")[0]


def _head(file: Outline) -> bytes:
    """What stands before its first symbol."""
    return file.source[: file.symbols[0].start].strip() if file.symbols else file.source.strip()


def _only_symbols(file: Outline) -> bool:
    """Whether nothing stands in it besides imports, comments and symbols."""
    covered = [(it.start, it.end) for it in (*file.symbols, *file.imports)]
    rest = (node for node in file.root.named_children if "comment" not in node.type)
    return all(any(start <= node.start_byte < end for start, end in covered) for node in rest)
