"""Splits a draft into hunks that a person decides on, and applies their choice to the draft.

Lines are compared in bounded time: first by lines that are unique in both texts, then in the gaps between them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import msgspec

from roundtable.core.changeset import NO_NEWLINE_MARK, DraftFile, Hunk, HunkChoice, HunkId
from roundtable.core.refusals import Refusal, RefusalCode

_MAX_COMPARISONS = 10_000_000
"""Maximum comparisons of lines; beyond that, a gap counts as one run of changed lines."""


class ChangedLines(NamedTuple):
    """A run of changed lines: start and end in the old and in the new text."""

    old: tuple[int, int]
    new: tuple[int, int]


def diff_edited_lines(old: Sequence[bytes], new: Sequence[bytes]) -> list[ChangedLines]:
    """Return the runs of changed lines, in order; the lines between two runs are equal in both texts."""
    changes: list[ChangedLines] = []
    budget = _MAX_COMPARISONS
    for gap in _unmatched_gaps(old, new):
        one, other = old[slice(*gap.old)], new[slice(*gap.new)]
        steps = _comparison_bound(one, other)
        changes += _compare_gap(gap, one, other) if steps <= budget else [gap]
        budget -= steps if steps <= budget else 0
    return changes


def _unmatched_gaps(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[ChangedLines]:
    """Yield the gaps between unique common lines, without the equal lines at their edges."""
    start = ChangedLines((0, 0), (0, 0))
    for old_index, new_index in (*_unique_common_lines(old, new), (len(old), len(new))):
        (first, second), (last, end) = (start.old[1], start.new[1]), (old_index, new_index)
        while first < last and second < end and old[first] == new[second]:
            first, second = first + 1, second + 1
        while first < last and second < end and old[last - 1] == new[end - 1]:
            last, end = last - 1, end - 1
        if first < last or second < end:
            yield ChangedLines((first, last), (second, end))
        start = ChangedLines((old_index, old_index + 1), (new_index, new_index + 1))


def _unique_common_lines(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the longest sequence of lines that are unique in both texts and in the same order."""
    old_counts, new_counts = Counter(old), Counter(new)
    places = {line: index for index, line in enumerate(new) if new_counts[line] == 1}
    pairs = [(index, places[line]) for index, line in enumerate(old) if old_counts[line] == 1 and line in places]
    ends: list[int] = []
    rows: list[int] = []
    before: list[int] = []
    for number, (_, new_index) in enumerate(pairs):
        length = bisect_left(ends, new_index)
        before.append(rows[length - 1] if length else -1)
        ends[length : length + 1] = [new_index]
        rows[length : length + 1] = [number]
    pairs_in_order: list[tuple[int, int]] = []
    index = rows[-1] if rows else -1
    while index >= 0:
        pairs_in_order.append(pairs[index])
        index = before[index]
    return pairs_in_order[::-1]


def _comparison_bound(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """Return an upper bound for the comparisons that the detailed search needs."""
    other_counts = Counter(other)
    equal_pairs = sum(count * other_counts[line] for line, count in Counter(one).items())
    return (len(one) + equal_pairs) * min(len(one), len(other))


def _compare_gap(gap: ChangedLines, one: Sequence[bytes], other: Sequence[bytes]) -> Iterator[ChangedLines]:
    (first, _), (second, _) = gap
    for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            yield ChangedLines((first + a, first + b), (second + c, second + d))


_CONTEXT_LINES = 2
"""Lines of context on each side of a hunk."""


def split_edits_into_hunks(files: Sequence[DraftFile]) -> tuple[Hunk, ...]:
    """Return every hunk of a draft; its id depends only on the draft: `path#1`, `path#rename`, `path#mode`."""
    return tuple(hunk for file in files for hunk in _file_hunks(file))


def apply_accepted_hunks(files: Sequence[DraftFile], choice: HunkChoice) -> tuple[DraftFile, ...] | Refusal:
    """Return the draft that a choice of hunks leaves; files without an accepted hunk are left out."""
    hunks = {hunk.id: hunk for hunk in split_edits_into_hunks(files)}
    for named in (*choice.rejected, *choice.edited):
        if named not in hunks:
            return Refusal.of(named, RefusalCode.HUNK_UNKNOWN)
    for named in choice.edited:
        if named in choice.rejected or not hunks[named].is_text:
            return Refusal.of(hunks[named].path, RefusalCode.HUNK_NOT_EDITABLE, hunk=named)
    return tuple(accepted for file in files if (accepted := _apply_choice_to_file(file, choice)) is not None)


def _file_hunks(file: DraftFile) -> Iterable[Hunk]:
    if file.was:
        yield Hunk(HunkId(file.path, "rename").text, file.path, 0, (file.was,), (file.path,), file.asked_by)
    if _changes_mode(file):
        before, after = (
            ("executable" if executable else "plain",) for executable in (file.was_executable, file.executable)
        )
        before = before if file.before is not None else ()
        yield Hunk(HunkId(file.path, "mode").text, file.path, 0, before, after, file.asked_by)
    old, new = _lines(file.before), _lines(file.after)
    runs = _changed_runs(file)
    ends, starts = [0, *(run.old[1] for run in runs)], [*(run.old[0] for run in runs[1:]), len(old)]
    for number, (run, lowest, highest) in enumerate(zip(runs, ends, starts, strict=False), 1):
        (start, end), id = run.old, HunkId(file.path, number).text
        before, after = _display_lines(old[start:end]), _display_lines(new[slice(*run.new)])
        above, below = old[max(lowest, start - _CONTEXT_LINES) : start], old[end : min(highest, end + _CONTEXT_LINES)]
        context = _display_lines(above), _display_lines(below)
        whole = "new file" if file.before is None else "deleted" if file.after is None else ""
        yield Hunk(id, file.path, start + 1, before, after, file.asked_by, *context, whole)


def _apply_choice_to_file(file: DraftFile, choice: HunkChoice) -> DraftFile | None:
    after = _chosen_content(file, choice)
    renamed = bool(file.was) and HunkId(file.path, "rename").text not in choice.rejected
    kept_mode = file.after is None or HunkId(file.path, "mode").text in choice.rejected
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


def _chosen_content(file: DraftFile, choice: HunkChoice) -> bytes | None:
    old, new = _lines(file.before), _lines(file.after)
    if file.before is None or file.after is None:
        return _chosen_whole_file(file, choice)
    pieces: list[bytes] = []
    position = 0
    for number, run in enumerate(_changed_runs(file), 1):
        hunk = HunkId(file.path, number).text
        one, other = old[slice(*run.old)], new[slice(*run.new)]
        pieces += old[position : run.old[0]]
        position = run.old[1]
        if hunk in choice.edited:
            pieces.append(_edited_text(choice.edited[hunk], other or one))
        else:
            pieces += one if hunk in choice.rejected else other
    return b"".join((*pieces, *old[position:]))


def _chosen_whole_file(file: DraftFile, choice: HunkChoice) -> bytes | None:
    """Return the content of a file that is created or deleted: accepted, rejected, or replaced by the person's text."""
    hunk = HunkId(file.path, 1).text
    if hunk in choice.edited:
        return _edited_text(choice.edited[hunk], _lines(file.after) or _lines(file.before))
    return file.before if hunk in choice.rejected else file.after


def _edited_text(text: str, model: Sequence[bytes]) -> bytes:
    """Return the person's text with the line endings of the lines it replaces."""
    plain = text.replace("\r\n", "\n")
    if plain.rstrip("\n").endswith(f"\n{NO_NEWLINE_MARK}"):
        plain = plain.rstrip("\n").removesuffix(f"\n{NO_NEWLINE_MARK}")
    elif plain and not plain.endswith("\n") and (not model or model[-1].endswith(b"\n")):
        plain += "\n"
    crlf = bool(model) and model[0].endswith(b"\r\n")
    return (plain.replace("\n", "\r\n") if crlf else plain).encode(errors="replace")


def _changed_runs(file: DraftFile) -> list[ChangedLines]:
    """Return the changed lines; a created or deleted file is one run, even if it is empty."""
    old, new = _lines(file.before), _lines(file.after)
    if file.before is None or file.after is None:
        return [ChangedLines((0, len(old)), (0, len(new)))]
    return diff_edited_lines(old, new)


def _changes_mode(file: DraftFile) -> bool:
    return file.after is not None and file.executable != file.was_executable


def _lines(data: bytes | None) -> list[bytes]:
    lines = (data or b"").split(b"\n")
    ended = [line + b"\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def _display_lines(lines: Sequence[bytes]) -> tuple[str, ...]:
    """Return lines for display, with git's mark for a missing final newline."""
    texts = [line.decode(errors="replace").removesuffix("\n") for line in lines]
    return tuple(texts if not lines or lines[-1].endswith(b"\n") else [*texts, NO_NEWLINE_MARK])
