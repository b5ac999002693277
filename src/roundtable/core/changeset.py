"""Changes to files, in one form for every producer. Nothing else is ever written to a workspace.

A changeset lists the changes that a seat or person wants. A draft is its result on one tree, byte by byte.
Only a draft that a person approved is applied.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from roundtable.core.values import Digest, Value


class FolderEdits(Value, frozen=True):
    """The edits in a folder as a git diff, and the files that such a diff cannot contain.

    `inner` are repositories created there, `no_text` files that are not UTF-8 text, `set_up` files that were already
    changed before any work began there.
    """

    diff: str = ""
    inner: tuple[str, ...] = ()
    no_text: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    set_up: tuple[str, ...] = ()


class EditBlock(Value, frozen=True):
    """Text that must occur exactly once in a file, and its replacement. `line` selects one of several equal places."""

    search: str
    replace: str
    line: int = 0


class CreateFile(Value, frozen=True, tag="create", tag_field="operation"):
    """A new file."""

    path: str
    text: str
    executable: bool = False
    asked_by: str = ""


class ReplaceFile(Value, frozen=True, tag="replace", tag_field="operation"):
    """The whole content of a file, which may be new where `base` is empty."""

    path: str
    text: str
    base: Digest = ""
    executable: bool | None = None
    asked_by: str = ""


class EditFile(Value, frozen=True, tag="edit", tag_field="operation"):
    """Replacements within a file."""

    path: str
    blocks: tuple[EditBlock, ...]
    base: Digest = ""
    executable: bool | None = None
    asked_by: str = ""


class PutSymbol(Value, frozen=True, tag="put_symbol", tag_field="operation"):
    """A function, method or class by its name within a file, such as `Session.login`: replaced, or added."""

    path: str
    symbol: str
    text: str
    base: Digest = ""
    asked_by: str = ""


class DeleteFile(Value, frozen=True, tag="delete", tag_field="operation"):
    """A file to delete."""

    path: str
    base: Digest = ""
    asked_by: str = ""


class RenameFile(Value, frozen=True, tag="rename", tag_field="operation"):
    """A file to rename; an edit of the renamed file uses the new name."""

    path: str
    to: str
    base: Digest = ""
    asked_by: str = ""


Operation = CreateFile | ReplaceFile | EditFile | PutSymbol | DeleteFile | RenameFile


class Changeset(Value, frozen=True):
    """File operations in their order, their producer, their scope, and the decision or claim that asked for them.

    `scope` are path patterns; an empty scope is the whole workspace. An operation's own `asked_by` takes precedence.
    `base` of an operation is the digest of the file its producer saw: if the file has changed since, the base is stale.
    """

    operations: tuple[Operation, ...]
    producer: str = ""
    scope: tuple[str, ...] = ()
    asked_by: str = ""


class FileChange(Value, frozen=True):
    """One file before and after, each by digest; an empty digest means no file. `was` is its former name."""

    path: str
    before: Digest = ""
    after: Digest = ""
    was: str = ""
    executable: bool = False
    was_executable: bool = False
    asked_by: str = ""


class Draft(Value, frozen=True):
    """The result of a changeset on one tree. Stored as a blob and named by its digest."""

    files: tuple[FileChange, ...] = ()


NO_NEWLINE_MARK = "\\ No newline at end of file"
"""Marks a last line without a line end in a hunk, as git diffs do."""


class HunkId(NamedTuple):
    """The id of a hunk, `PATH#ASPECT`: the number of a run of lines, `rename` or `mode`. Built and read only here."""

    path: str
    aspect: int | str

    @classmethod
    def parse(cls, id: str) -> HunkId:
        """The parts of an id; a path may contain the sign."""
        path, _, aspect = id.rpartition("#")
        return cls(path, int(aspect) if aspect.isdecimal() else aspect)

    @property
    def text(self) -> str:
        """The id as it is recorded and as people write it."""
        return f"{self.path}#{self.aspect}"


class Hunk(Value, frozen=True):
    """One run of changed lines, under an id such as `src/a.py#2`, that a person accepts or rejects.

    `above` and `below` are unchanged lines around it. `whole` says that the file itself is created or deleted.
    """

    id: str
    path: str
    first: int
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    asked_by: str = ""
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    whole: Literal["", "new file", "deleted"] = ""

    @property
    def sides(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Its lines in order, under the signs of a diff."""
        return ((" ", self.above), ("-", self.before), ("+", self.after), (" ", self.below))

    @property
    def is_text(self) -> bool:
        """Whether it changes lines rather than the file's name or mode."""
        return isinstance(HunkId.parse(self.id).aspect, int)

    @property
    def is_rename(self) -> bool:
        """Whether it changes the file's name."""
        return HunkId.parse(self.id).aspect == "rename"


class HunkChoice(Value, frozen=True):
    """A person's choice among the hunks of a draft, by their ids: which they rejected, and which they rewrote.

    Stored as JSON in the text of their answer; an empty text accepts every hunk as it is.
    """

    rejected: tuple[str, ...] = ()
    edited: dict[str, str] = {}


class DraftFile(msgspec.Struct, frozen=True):
    """One file before and after; None means no file. `was` is its former name, under which no file remains."""

    path: str
    before: bytes | None
    after: bytes | None
    was: str = ""
    executable: bool = False
    was_executable: bool = False
    asked_by: str = ""
