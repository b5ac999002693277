"""Read a unified git diff exactly, as operations on files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from roundtable.core.changeset import CreateFile, DeleteFile, EditBlock, EditFile, Operation, RenameFile
from roundtable.core.replies.codec import UnreadableReply
from roundtable.core.text.diffs import strip_diff_prefix_from_file_name
from roundtable.core.values import compute_digest

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_QUOTED = re.compile(r"\\([0-7]{3}|.)")
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_NO_FILE = "/dev/null"
_EXECUTABLE = "100755"
_PLAIN_FILE_MODES = ("100644", _EXECUTABLE)
_NO_NEWLINE = "\\"
_MODE_KEYS = ("new file mode", "deleted file mode", "old mode", "new mode")
_HEADER_KEYS = (
    *_MODE_KEYS,
    *("rename from", "rename to", "copy from", "copy to", "similarity index", "dissimilarity index", "index"),
    *("diff --git", "---", "+++"),
)


class _Head(NamedTuple):
    """The header lines of one file."""

    old: str
    new: str
    created: bool = False
    deleted: bool = False
    copied: bool = False
    mode: str = ""


def reply_starts_like_diff(text: str) -> bool:
    """Whether a text begins like a diff."""
    return re.match(r"\s*(?:diff --git |--- [^\n]+\n\+\+\+ |@@ -\d)", text) is not None


def parse_git_diff_reply(diff: str, path: str = "", asked_by: str = "") -> list[Operation]:
    """The operations of a diff. `path` names the file of a diff without file headers."""
    lines = diff.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    operations: list[Operation] = []
    index = 0
    while index < len(lines):
        head, index = _read_head(lines, index, path)
        blocks, index = _read_hunks(lines, index)
        operations.extend(_file_operations(head, blocks, asked_by))
    return operations


def _read_head(lines: list[str], index: int, path: str) -> tuple[_Head, int]:
    """The header at a line, and the line where its hunks begin."""
    fields: dict[str, str] = {}
    while index < len(lines) and not lines[index].startswith("@@ "):
        line = lines[index]
        if line.startswith("diff --git ") and fields:
            break
        if line.startswith("--- ") and "---" in fields:
            break
        _note_header_line(line, fields)
        index += 1
    if not fields:
        if not path:
            raise UnreadableReply("A diff does not name the file it changes.")
        return _Head(path, path), index
    old, new = _file_names(fields)
    mode = fields.get("new mode", fields.get("new file mode", ""))
    modes = (*(fields.get(key, "") for key in _MODE_KEYS), fields.get("index", "").partition(" ")[2])
    if any(mode and mode not in _PLAIN_FILE_MODES for mode in modes):
        raise UnreadableReply(
            f"The diff turns {new or old} into a symbolic link or special file; only regular files are supported."
        )
    created = "new file mode" in fields or fields.get("---") == _NO_FILE
    deleted = "deleted file mode" in fields or fields.get("+++") == _NO_FILE
    return _Head(old, new, created, deleted, "copy to" in fields, mode), index


def _note_header_line(line: str, fields: dict[str, str]) -> None:
    if line.startswith(("GIT binary patch", "Binary files ")):
        raise UnreadableReply("The diff changes a binary file; only text files are supported.")
    for key in _HEADER_KEYS:
        if line.startswith(f"{key} "):
            fields[key] = line[len(key) + 1 :]
            return
    if line.strip():
        raise UnreadableReply(f"The diff has an unexpected line outside a hunk: {line[:80]!r}.")


def _file_names(fields: dict[str, str]) -> tuple[str, str]:
    """The old and the new name of the file."""
    for old_key, new_key in (("rename from", "rename to"), ("copy from", "copy to")):
        if old_key in fields and new_key in fields:
            return _unquote_name(fields[old_key]), _unquote_name(fields[new_key])
    if "---" in fields and "+++" in fields:
        old, new = (
            strip_diff_prefix_from_file_name(_unquote_name(fields[key].partition("\t")[0])) for key in ("---", "+++")
        )
        return (new, new) if old == _NO_FILE else (old, old) if new == _NO_FILE else (old, new)
    return _split_equal_names(fields.get("diff --git", ""))


def _split_equal_names(pair: str) -> tuple[str, str]:
    """The name in `a/x b/x`, which git writes alone only if both are equal."""
    half = len(pair) // 2
    old, new = (
        strip_diff_prefix_from_file_name(_unquote_name(pair[:half])),
        strip_diff_prefix_from_file_name(_unquote_name(pair[half + 1 :])),
    )
    if not old or old != new:
        raise UnreadableReply("A diff does not name the file it changes.")
    return old, new


def _unquote_name(name: str) -> str:
    """A name without git's quotes and escapes."""
    if not (len(name) > 1 and name[0] == name[-1] == '"'):
        return name
    raw = bytearray()
    index = 1
    while index < len(name) - 1:
        match = _QUOTED.match(name, index)
        if match is None:
            raw += name[index].encode()
            index += 1
        elif match[1].isdigit():
            raw.append(int(match[1], 8) & 255)
            index = match.end()
        elif match[1] in _ESCAPES:
            raw.append(_ESCAPES[match[1]])
            index = match.end()
        else:
            raise UnreadableReply(f"The diff has an invalid file name: {name[:80]}.")
    return raw.decode(errors="replace")


def _read_hunks(lines: list[str], index: int) -> tuple[list[EditBlock], int]:
    """The hunks from a line on, and the line where they end."""
    blocks: list[EditBlock] = []
    while index < len(lines) and (match := _HUNK.match(lines[index])):
        first, counts = int(match[1]), (int(match[2] or 1), int(match[3] or 1))
        block, index = _read_hunk(lines, index + 1, first, counts)
        blocks.append(block)
    if index < len(lines) and lines[index].startswith("@@ "):
        raise UnreadableReply(f"A hunk of the diff has no line numbers: {lines[index][:80]!r}.")
    while index < len(lines) and not lines[index].strip():
        index += 1
    return blocks, index


def _read_hunk(lines: list[str], index: int, first: int, counts: tuple[int, int]) -> tuple[EditBlock, int]:
    """One hunk with exactly the number of lines its header states."""
    old: list[str] = []
    new: list[str] = []
    while index < len(lines) and (len(old) < counts[0] or len(new) < counts[1]):
        index = _read_hunk_line(lines, index, old, new)
    if (len(old), len(new)) != counts:
        raise UnreadableReply("A hunk of the diff has a different number of lines than its header states.")
    if index < len(lines) and lines[index].startswith(_NO_NEWLINE):
        index = _read_hunk_line(lines, index, old, new)
    return EditBlock("".join(old), "".join(new), first), index


def _read_hunk_line(lines: list[str], index: int, old: list[str], new: list[str]) -> int:
    """Read one line of a hunk."""
    mark, content = lines[index][:1], lines[index][1:]
    if mark == _NO_NEWLINE:
        _remove_final_newline(lines[index - 1][:1], old, new)
    elif mark in (" ", ""):  # editors and models drop the space of an empty line
        old.append(f"{content}\n")
        new.append(f"{content}\n")
    elif mark == "-":
        old.append(f"{content}\n")
    elif mark == "+":
        new.append(f"{content}\n")
    else:
        raise UnreadableReply(
            f"A line in a hunk of the diff does not start with a space, `-` or `+`: {lines[index][:80]!r}."
        )
    return index + 1


def _remove_final_newline(mark: str, old: list[str], new: list[str]) -> None:
    for side, marks in ((old, " -"), (new, " +")):
        if mark and mark in marks and side:
            side[-1] = side[-1].removesuffix("\n")


def _file_operations(head: _Head, blocks: list[EditBlock], asked_by: str) -> Iterator[Operation]:
    if head.copied:
        raise UnreadableReply(
            f"The diff copies {head.old}. Copies are not supported; send the complete new file instead."
        )
    if head.deleted:
        deleted_text = "".join(block.search for block in blocks)
        yield DeleteFile(head.old, compute_digest(deleted_text.encode()) if blocks else "", asked_by)
        return
    executable = head.mode == _EXECUTABLE
    if head.created:
        yield CreateFile(head.new, "".join(block.replace for block in blocks), executable, asked_by=asked_by)
        return
    if head.old != head.new:
        yield RenameFile(head.old, head.new, asked_by=asked_by)
    if blocks or head.mode:
        yield EditFile(head.new, tuple(blocks), executable=executable if head.mode else None, asked_by=asked_by)
