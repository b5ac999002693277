"""A draft in the pieces a person decides on, and the draft again that their choice leaves of it.

Which runs of lines differ between two texts, in bounded time: first by the lines that each has only once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import msgspec

from roundtable.core.changeset import NO_NEWLINE_MARK, DraftFile, Hunk, HunkChoice, Refusal, RefusalKind

_STEPS = 10_000_000
"""How long alike lines may be weighed against each other; beyond that, what is left of a text is one run."""


class ChangedLines(NamedTuple):
    """Lines that differ, from and to, before and after."""

    old: tuple[int, int]
    new: tuple[int, int]


def diff_lines(old: Sequence[bytes], new: Sequence[bytes]) -> list[ChangedLines]:
    """The runs in their order; the lines between two of them are the same in both texts."""
    found: list[ChangedLines] = []
    left = _STEPS
    for gap in _gaps(old, new):
        one, other = old[slice(*gap.old)], new[slice(*gap.new)]
        steps = _steps(one, other)
        found += _compared(gap, one, other) if steps <= left else [gap]
        left -= steps if steps <= left else 0
    return found


def _gaps(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[ChangedLines]:
    """What lies between the lines that both texts have once and in the same order, without what is equal around it."""
    start = ChangedLines((0, 0), (0, 0))
    for at, to in (*_anchors(old, new), (len(old), len(new))):
        (first, second), (last, end) = (start.old[1], start.new[1]), (at, to)
        while first < last and second < end and old[first] == new[second]:
            first, second = first + 1, second + 1
        while first < last and second < end and old[last - 1] == new[end - 1]:
            last, end = last - 1, end - 1
        if first < last or second < end:
            yield ChangedLines((first, last), (second, end))
        start = ChangedLines((at, at + 1), (to, to + 1))


def _anchors(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """The longest row of lines that stand once in each text and follow each other in both."""
    once, there = Counter(old), Counter(new)
    places = {line: at for at, line in enumerate(new) if there[line] == 1}
    pairs = [(at, places[line]) for at, line in enumerate(old) if once[line] == 1 and line in places]
    ends: list[int] = []
    rows: list[int] = []
    before: list[int] = []
    for number, (_, to) in enumerate(pairs):
        length = bisect_left(ends, to)
        before.append(rows[length - 1] if length else -1)
        ends[length : length + 1] = [to]
        rows[length : length + 1] = [number]
    found: list[tuple[int, int]] = []
    at = rows[-1] if rows else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _steps(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """How many comparisons the finer search may take at most."""
    there = Counter(other)
    alike = sum(count * there[line] for line, count in Counter(one).items())
    return (len(one) + alike) * min(len(one), len(other))


def _compared(gap: ChangedLines, one: Sequence[bytes], other: Sequence[bytes]) -> Iterator[ChangedLines]:
    (first, _), (second, _) = gap
    for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            yield ChangedLines((first + a, first + b), (second + c, second + d))


_AROUND = 2
"""Lines on each side that show where a piece stands."""


def split_draft_into_hunks(files: Sequence[DraftFile]) -> tuple[Hunk, ...]:
    """Every piece of a draft under an id that only depends on the draft: `path#1`, `path#rename`, `path#mode`."""
    return tuple(hunk for file in files for hunk in _hunks(file))


def apply_hunk_choice(files: Sequence[DraftFile], choice: HunkChoice) -> tuple[DraftFile, ...] | Refusal:
    """What a choice leaves of a draft; files of which nothing is left are not in it."""
    ids = {hunk.id: hunk.path for hunk in split_draft_into_hunks(files)}
    for named in (*choice.rejected, *choice.edited):
        if named not in ids:
            return Refusal(named, RefusalKind.NOT_FOUND, f"The plan has no hunk called {named}.")
    for named in choice.edited:
        if named in choice.rejected or not named.rpartition("#")[2].isdigit():
            sentence = f"{named} cannot be rewritten: it is left out, or it has no text of its own."
            return Refusal(ids[named], RefusalKind.CONTRADICTION, sentence)
    return tuple(left for file in files if (left := _chosen(file, choice)) is not None)


def _hunks(file: DraftFile) -> Iterable[Hunk]:
    if file.was:
        yield Hunk(_id(file, "rename"), file.path, 0, (file.was,), (file.path,), file.asked_by)
    if _changes_mode(file):
        before, after = (("executable" if it else "plain",) for it in (file.was_executable, file.executable))
        before = before if file.before is not None else ()
        yield Hunk(_id(file, "mode"), file.path, 0, before, after, file.asked_by)
    old, new = _lines(file.before), _lines(file.after)
    runs = _runs(file)
    ends, starts = [0, *(it.old[1] for it in runs)], [*(it.old[0] for it in runs[1:]), len(old)]
    for number, (run, least, most) in enumerate(zip(runs, ends, starts, strict=False), 1):
        (start, end), id = run.old, _id(file, str(number))
        before, after = _shown(old[start:end]), _shown(new[slice(*run.new)])
        above, below = old[max(least, start - _AROUND) : start], old[end : min(most, end + _AROUND)]
        around = _shown(above), _shown(below)
        whole = "new file" if file.before is None else "deleted" if file.after is None else ""
        yield Hunk(id, file.path, start + 1, before, after, file.asked_by, *around, whole)


def _chosen(file: DraftFile, choice: HunkChoice) -> DraftFile | None:
    after = _content(file, choice)
    renamed = bool(file.was) and _id(file, "rename") not in choice.rejected
    kept_mode = file.after is None or _id(file, "mode") in choice.rejected
    executable = after is not None and (file.was_executable if kept_mode else file.executable)
    if not renamed and file.before == after and (after is None or executable == file.was_executable):
        return None
    return msgspec.structs.replace(
        file,
        path=file.path if renamed else file.was or file.path,
        was=file.was if renamed else "",
        after=after,
        executable=executable,
    )


def _content(file: DraftFile, choice: HunkChoice) -> bytes | None:
    old, new = _lines(file.before), _lines(file.after)
    if file.before is None or file.after is None:
        return _whole(file, choice)
    pieces: list[bytes] = []
    at = 0
    for number, run in enumerate(_runs(file), 1):
        hunk = _id(file, str(number))
        one, other = old[slice(*run.old)], new[slice(*run.new)]
        pieces += old[at : run.old[0]]
        at = run.old[1]
        if hunk in choice.edited:
            pieces.append(_own(choice.edited[hunk], other or one))
        else:
            pieces += one if hunk in choice.rejected else other
    return b"".join((*pieces, *old[at:]))


def _whole(file: DraftFile, choice: HunkChoice) -> bytes | None:
    """A file that comes or goes does so as a whole, or has the person's text instead."""
    hunk = _id(file, "1")
    if hunk in choice.edited:
        return _own(choice.edited[hunk], _lines(file.after) or _lines(file.before))
    return file.before if hunk in choice.rejected else file.after


def _own(text: str, model: Sequence[bytes]) -> bytes:
    """A person's own lines, ending as the lines do in whose place they stand."""
    plain = text.replace("\r\n", "\n")
    if plain.rstrip("\n").endswith(f"\n{NO_NEWLINE_MARK}"):
        plain = plain.rstrip("\n").removesuffix(f"\n{NO_NEWLINE_MARK}")
    elif plain and not plain.endswith("\n") and (not model or model[-1].endswith(b"\n")):
        plain += "\n"
    crlf = bool(model) and model[0].endswith(b"\r\n")
    return (plain.replace("\n", "\r\n") if crlf else plain).encode(errors="replace")


def _runs(file: DraftFile) -> list[ChangedLines]:
    """The runs of lines that differ; a file that comes or goes is one, even an empty one."""
    old, new = _lines(file.before), _lines(file.after)
    if file.before is None or file.after is None:
        return [ChangedLines((0, len(old)), (0, len(new)))]
    return diff_lines(old, new)


def _changes_mode(file: DraftFile) -> bool:
    return file.after is not None and file.executable != file.was_executable


def _id(file: DraftFile, part: str) -> str:
    return f"{file.path}#{part}"


def _lines(data: bytes | None) -> list[bytes]:
    lines = (data or b"").split(b"\n")
    ended = [line + b"\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def _shown(lines: Sequence[bytes]) -> tuple[str, ...]:
    """Lines for people, and git's own word for a last one that does not end."""
    texts = [line.decode(errors="replace").removesuffix("\n") for line in lines]
    return tuple(texts if not lines or lines[-1].endswith(b"\n") else [*texts, NO_NEWLINE_MARK])
