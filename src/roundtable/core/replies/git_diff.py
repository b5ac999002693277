"""A unified diff, as git writes it, read exactly: what it does to each file as operations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from roundtable.core.changeset import CreateFile, DeleteFile, EditBlock, EditFile, Operation, RenameFile
from roundtable.core.replies.codec import UnreadableReply
from roundtable.core.text.diffs import strip_git_prefix
from roundtable.core.values import compute_digest

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_QUOTED = re.compile(r"\\([0-7]{3}|.)")
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_NOTHING = "/dev/null"
_EXECUTABLE = "100755"
_PLAIN = ("100644", _EXECUTABLE)
_NO_NEWLINE = "\\"
_MODES = ("new file mode", "deleted file mode", "old mode", "new mode")
_KEYS = (
    *_MODES,
    *("rename from", "rename to", "copy from", "copy to", "similarity index", "dissimilarity index", "index"),
    *("diff --git", "---", "+++"),
)


class _Head(NamedTuple):
    """What stands above the hunks of one file."""

    old: str
    new: str
    created: bool = False
    deleted: bool = False
    copied: bool = False
    mode: str = ""


def starts_like_diff(text: str) -> bool:
    """Whether a text begins as a diff does."""
    return re.match(r"\s*(?:diff --git |--- [^\n]+\n\+\+\+ |@@ -\d)", text) is not None


def parse_git_diff(diff: str, path: str = "", asked_by: str = "") -> list[Operation]:
    """What a diff does, file by file. `path` names the file of a diff that has hunks and no head."""
    lines = diff.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    found: list[Operation] = []
    at = 0
    while at < len(lines):
        head, at = _head(lines, at, path)
        blocks, at = _blocks(lines, at)
        found.extend(_operations(head, blocks, asked_by))
    return found


def _head(lines: list[str], at: int, path: str) -> tuple[_Head, int]:
    """The head at a line, and where its hunks begin."""
    seen: dict[str, str] = {}
    while at < len(lines) and not lines[at].startswith("@@ "):
        line = lines[at]
        if line.startswith("diff --git ") and seen:
            break
        if line.startswith("--- ") and "---" in seen:
            break
        _note(line, seen)
        at += 1
    if not seen:
        if not path:
            raise UnreadableReply("A diff does not say which file it changes.")
        return _Head(path, path), at
    old, new = _names(seen)
    mode = seen.get("new mode", seen.get("new file mode", ""))
    modes = (*(seen.get(key, "") for key in _MODES), seen.get("index", "").partition(" ")[2])
    if any(it and it not in _PLAIN for it in modes):
        raise UnreadableReply(f"The diff makes {new or old} a link or something else that is not a plain file.")
    created = "new file mode" in seen or seen.get("---") == _NOTHING
    deleted = "deleted file mode" in seen or seen.get("+++") == _NOTHING
    return _Head(old, new, created, deleted, "copy to" in seen, mode), at


def _note(line: str, seen: dict[str, str]) -> None:
    if line.startswith(("GIT binary patch", "Binary files ")):
        raise UnreadableReply("The diff changes a file that is not text.")
    for key in _KEYS:
        if line.startswith(f"{key} "):
            seen[key] = line[len(key) + 1 :]
            return
    if line.strip():
        raise UnreadableReply(f"A diff has a line that belongs to no hunk: {line[:80]!r}.")


def _names(seen: dict[str, str]) -> tuple[str, str]:
    """What the file is called before and after."""
    for one, other in (("rename from", "rename to"), ("copy from", "copy to")):
        if one in seen and other in seen:
            return _unquoted(seen[one]), _unquoted(seen[other])
    if "---" in seen and "+++" in seen:
        old, new = (strip_git_prefix(_unquoted(seen[key].partition("\t")[0])) for key in ("---", "+++"))
        return (new, new) if old == _NOTHING else (old, old) if new == _NOTHING else (old, new)
    return _same_name(seen.get("diff --git", ""))


def _same_name(pair: str) -> tuple[str, str]:
    """The name in `a/x b/x`, which git only writes alone where both are the same."""
    half = len(pair) // 2
    old, new = strip_git_prefix(_unquoted(pair[:half])), strip_git_prefix(_unquoted(pair[half + 1 :]))
    if not old or old != new:
        raise UnreadableReply("A diff does not say which file it changes.")
    return old, new


def _unquoted(name: str) -> str:
    """A name without the quotation marks and escapes that git puts around unusual letters."""
    if not (len(name) > 1 and name[0] == name[-1] == '"'):
        return name
    raw = bytearray()
    at = 1
    while at < len(name) - 1:
        match = _QUOTED.match(name, at)
        if match is None:
            raw += name[at].encode()
            at += 1
        elif match[1].isdigit():
            raw.append(int(match[1], 8) & 255)
            at = match.end()
        elif match[1] in _ESCAPES:
            raw.append(_ESCAPES[match[1]])
            at = match.end()
        else:
            raise UnreadableReply(f"A diff names a file in a way nobody can read: {name[:80]}.")
    return raw.decode(errors="replace")


def _blocks(lines: list[str], at: int) -> tuple[list[EditBlock], int]:
    """The hunks from a line on, and where they end."""
    found: list[EditBlock] = []
    while at < len(lines) and (match := _HUNK.match(lines[at])):
        first, counts = int(match[1]), (int(match[2] or 1), int(match[3] or 1))
        block, at = _block(lines, at + 1, first, counts)
        found.append(block)
    if at < len(lines) and lines[at].startswith("@@ "):
        raise UnreadableReply(f"A hunk of the diff has no line numbers: {lines[at][:80]!r}.")
    while at < len(lines) and not lines[at].strip():
        at += 1
    return found, at


def _block(lines: list[str], at: int, first: int, counts: tuple[int, int]) -> tuple[EditBlock, int]:
    """One hunk; it has as many lines as it says, and ends there."""
    old: list[str] = []
    new: list[str] = []
    while at < len(lines) and (len(old) < counts[0] or len(new) < counts[1]):
        at = _take(lines, at, old, new)
    if (len(old), len(new)) != counts:
        raise UnreadableReply("A hunk of the diff has not as many lines as its head says.")
    if at < len(lines) and lines[at].startswith(_NO_NEWLINE):
        at = _take(lines, at, old, new)
    return EditBlock("".join(old), "".join(new), first), at


def _take(lines: list[str], at: int, old: list[str], new: list[str]) -> int:
    """Read one line of a hunk."""
    mark, rest = lines[at][:1], lines[at][1:]
    if mark == _NO_NEWLINE:
        _cut_newline(lines[at - 1][:1], old, new)
    elif mark in (" ", ""):  # editors and models drop the blank of an empty line
        old.append(f"{rest}\n")
        new.append(f"{rest}\n")
    elif mark == "-":
        old.append(f"{rest}\n")
    elif mark == "+":
        new.append(f"{rest}\n")
    else:
        raise UnreadableReply(f"A hunk of the diff has a line that is neither old nor new: {lines[at][:80]!r}.")
    return at + 1


def _cut_newline(mark: str, old: list[str], new: list[str]) -> None:
    for side, marks in ((old, " -"), (new, " +")):
        if mark and mark in marks and side:
            side[-1] = side[-1].removesuffix("\n")


def _operations(head: _Head, blocks: list[EditBlock], asked_by: str) -> Iterator[Operation]:
    if head.copied:
        raise UnreadableReply(f"The diff copies {head.old}. Send the new file as a whole instead.")
    if head.deleted:
        gone = "".join(block.search for block in blocks)
        yield DeleteFile(head.old, compute_digest(gone.encode()) if blocks else "", asked_by)
        return
    executable = head.mode == _EXECUTABLE
    if head.created:
        yield CreateFile(head.new, "".join(block.replace for block in blocks), executable, asked_by=asked_by)
        return
    if head.old != head.new:
        yield RenameFile(head.old, head.new, asked_by=asked_by)
    if blocks or head.mode:
        yield EditFile(head.new, tuple(blocks), executable=executable if head.mode else None, asked_by=asked_by)
