"""A draft in the pieces a person decides on, and the draft again that their choice leaves of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

import msgspec

from roundtable.core.changes import Choice, Hunk, Refusal, RefusalKind
from roundtable.workshop.drafting import Written

_NO_NEWLINE = "\\ No newline at end of file"
_LONG = 10_000
"""Lines that differ, beyond which they are shown as one piece: nobody would go through them singly."""


class _Run(msgspec.Struct, frozen=True):
    """Lines of a file, from and to, before and after."""

    old: tuple[int, int]
    new: tuple[int, int]


def hunks_of(files: Sequence[Written]) -> tuple[Hunk, ...]:
    """Every piece of a draft under an id that only depends on the draft: `path#1`, `path#rename`, `path#mode`."""
    return tuple(hunk for file in files for hunk in _hunks(file))


def chosen(files: Sequence[Written], choice: Choice) -> tuple[Written, ...] | Refusal:
    """What a choice leaves of a draft; files of which nothing is left are not in it."""
    ids = {hunk.id: hunk.path for hunk in hunks_of(files)}
    for named in (*choice.rejected, *choice.edited):
        if named not in ids:
            return Refusal(named, RefusalKind.NOT_FOUND, f"The plan has no hunk called {named}.")
    for named in choice.edited:
        if named in choice.rejected or not named.rpartition("#")[2].isdigit():
            sentence = f"{named} cannot be rewritten: it is left out, or it has no text of its own."
            return Refusal(ids[named], RefusalKind.CONTRADICTION, sentence)
    return tuple(left for file in files if (left := _chosen(file, choice)) is not None)


def _hunks(file: Written) -> Iterable[Hunk]:
    if file.was:
        yield Hunk(_id(file, "rename"), file.path, 0, (file.was,), (file.path,), file.asked_by)
    if _changes_mode(file):
        before, after = (("executable" if it else "plain",) for it in (file.was_executable, file.executable))
        yield Hunk(_id(file, "mode"), file.path, 0, before, after, file.asked_by)
    old, new = _lines(file.before), _lines(file.after)
    for number, run in enumerate(_runs(file), 1):
        before, after = _shown(old[slice(*run.old)]), _shown(new[slice(*run.new)])
        yield Hunk(_id(file, str(number)), file.path, run.old[0] + 1, before, after, file.asked_by)


def _chosen(file: Written, choice: Choice) -> Written | None:
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


def _content(file: Written, choice: Choice) -> bytes | None:
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


def _whole(file: Written, choice: Choice) -> bytes | None:
    """A file that comes or goes does so as a whole, or has the person's text instead."""
    hunk = _id(file, "1")
    if hunk in choice.edited:
        return _own(choice.edited[hunk], _lines(file.after) or _lines(file.before))
    return file.before if hunk in choice.rejected else file.after


def _own(text: str, model: Sequence[bytes]) -> bytes:
    """A person's own lines, ending as the lines do in whose place they stand."""
    plain = text.replace("\r\n", "\n")
    if plain.rstrip("\n").endswith(f"\n{_NO_NEWLINE}"):
        plain = plain.rstrip("\n").removesuffix(f"\n{_NO_NEWLINE}")
    elif plain and not plain.endswith("\n") and (not model or model[-1].endswith(b"\n")):
        plain += "\n"
    crlf = bool(model) and model[0].endswith(b"\r\n")
    return (plain.replace("\n", "\r\n") if crlf else plain).encode(errors="replace")


def _runs(file: Written) -> list[_Run]:
    """The runs of lines that differ; a file that comes or goes is one, even an empty one."""
    old, new = _lines(file.before), _lines(file.after)
    if file.before is None or file.after is None:
        return [_Run((0, len(old)), (0, len(new)))]
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    one, other = old[first : len(old) - last], new[first : len(new) - last]
    if not one and not other:
        return []
    if not one or not other or len(one) + len(other) > _LONG:
        return [_Run((first, first + len(one)), (first, first + len(other)))]
    return [
        _Run((first + a, first + b), (first + c, first + d))
        for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def _changes_mode(file: Written) -> bool:
    return file.before is not None and file.after is not None and file.executable != file.was_executable


def _id(file: Written, part: str) -> str:
    return f"{file.path}#{part}"


def _lines(data: bytes | None) -> list[bytes]:
    lines = (data or b"").split(b"\n")
    ended = [line + b"\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def _shown(lines: Sequence[bytes]) -> tuple[str, ...]:
    """Lines for people, and git's own word for a last one that does not end."""
    texts = [line.decode(errors="replace").removesuffix("\n") for line in lines]
    return tuple(texts if not lines or lines[-1].endswith(b"\n") else [*texts, _NO_NEWLINE])
