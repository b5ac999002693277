"""What wants to be written: one form for everything, whoever produced it. Nothing else is ever written to a workspace.

A changeset is what somebody wants; a draft is what that comes to on a certain tree, file by file and byte by byte.
Only a draft that a person said yes to is carried out.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

from roundtable.core.values import Digest, Value


class FolderEdits(Value, frozen=True):
    """What was changed by hand in a folder, as a git diff, and what no such diff holds.

    `inner` are repositories made there, `no_text` files that are no text in UTF-8, `set_up` files that had been changed
    before anybody worked there.
    """

    diff: str = ""
    inner: tuple[str, ...] = ()
    no_text: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    set_up: tuple[str, ...] = ()


class EditBlock(Value, frozen=True):
    """Text to be found in a file, once, and what stands there instead. `line` tells alike places apart, if given."""

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
    """A whole file, which may be new too where `base` is empty."""

    path: str
    text: str
    base: Digest = ""
    executable: bool | None = None
    asked_by: str = ""


class EditFile(Value, frozen=True, tag="edit", tag_field="operation"):
    """Parts of a file."""

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
    """A file that goes."""

    path: str
    base: Digest = ""
    asked_by: str = ""


class RenameFile(Value, frozen=True, tag="rename", tag_field="operation"):
    """A file under another name; an edit of it names the new one."""

    path: str
    to: str
    base: Digest = ""
    asked_by: str = ""


Operation = CreateFile | ReplaceFile | EditFile | PutSymbol | DeleteFile | RenameFile


class Changeset(Value, frozen=True):
    """File operations in their order, with who wants them, where they may reach and which decision or claim asked.

    `scope` are path patterns; without any, the whole workspace. An operation's own `asked_by` stands above this one.
    `base` of an operation is the digest of the file as its producer knew it: another one now is a stale base.
    """

    operations: tuple[Operation, ...]
    producer: str = ""
    scope: tuple[str, ...] = ()
    asked_by: str = ""


class RefusalKind(StrEnum):
    """Why something is not written. Nothing else."""

    ABSOLUTE = "absolute"
    TRAVERSAL = "traversal"
    LINK = "link"
    REPOSITORY = "repository"
    OURS = "ours"
    SENSITIVE = "sensitive"
    RESERVED = "reserved"
    ENCODED = "encoded"
    CASE = "case"
    IGNORED = "ignored"
    OUT_OF_SCOPE = "out_of_scope"
    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"
    BINARY = "binary"
    SECRET = "secret"
    STALE = "stale"
    MISSING = "missing"
    EXISTS = "exists"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    CONTRADICTION = "contradiction"
    NOT_A_FILE = "not_a_file"
    UNCOMMITTED = "uncommitted"
    FILTERED = "filtered"
    LANGUAGE = "language"
    SYNTAX = "syntax"
    CONFLICT_MARKERS = "conflict_markers"
    LEAKED_FENCE = "leaked_fence"
    TESTS_DELETED = "tests_deleted"


class Refusal(Value, frozen=True):
    """One thing that is not written, and why, in one sentence for people."""

    path: str
    kind: RefusalKind
    sentence: str


class FileChange(Value, frozen=True):
    """One file before and after, each kept by digest; an empty digest is no file. `was` is its name before."""

    path: str
    before: Digest = ""
    after: Digest = ""
    was: str = ""
    executable: bool = False
    was_executable: bool = False
    asked_by: str = ""


class Draft(Value, frozen=True):
    """What a changeset comes to on one tree. Kept as a blob; its digest is its name."""

    files: tuple[FileChange, ...] = ()


NO_NEWLINE_MARK = "\\ No newline at end of file"
"""Stands in a hunk after a last line that does not end, as in git's own diffs."""


class Hunk(Value, frozen=True):
    """One run of changed lines, under an id such as `src/a.py#2`, that a person takes or leaves.

    `above` and `below` are the lines around it that stay. `whole` says that the file itself comes or goes with it.
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
        """Its lines in their order, under the signs a diff gives them."""
        return ((" ", self.above), ("-", self.before), ("+", self.after), (" ", self.below))


class HunkChoice(Value, frozen=True):
    """What a person made of a draft, by the ids of its hunks: which they left, and which they wrote anew.

    As JSON it is the text of their answer at the gate; no text at all takes every hunk as it is.
    """

    rejected: tuple[str, ...] = ()
    edited: dict[str, str] = {}


class DraftFile(msgspec.Struct, frozen=True):
    """One file before and after; None is no file. `was` is the name it had, of which nothing is left then."""

    path: str
    before: bytes | None
    after: bytes | None
    was: str = ""
    executable: bool = False
    was_executable: bool = False
    asked_by: str = ""
