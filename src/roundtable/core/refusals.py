"""Why an operation on a file, or a directive to merge code, is refused: a code and its facts.

The workshop returns refusals, never sentences; `report.refusals` makes the sentences.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Self

import msgspec


class RefusalKind(StrEnum):
    """The group to which a refusal of a file operation belongs."""

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


_K = RefusalKind


class RefusalCode(StrEnum):
    """The reason of a refusal, and its kind; a conflict or an unclear directive has none."""

    kind: RefusalKind | None

    def __new__(cls, value: str, kind: RefusalKind | None = None) -> Self:
        """Create a member that is equal to its value."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.kind = kind
        return member

    SAID = "said"

    # paths
    PATH_EMPTY = "path_empty", _K.NOT_A_FILE
    PATH_WITHOUT_NAME = "path_without_name", _K.NOT_A_FILE
    PATH_TOO_LONG = "path_too_long", _K.TOO_LARGE
    PATH_ABSOLUTE = "path_absolute", _K.ABSOLUTE
    PATH_COMPONENT = "path_component", _K.TRAVERSAL
    PATH_BACKSLASH = "path_backslash", _K.ENCODED
    PATH_INVISIBLE = "path_invisible", _K.ENCODED
    PATH_PERCENT = "path_percent", _K.ENCODED
    PATH_LOOKALIKE = "path_lookalike", _K.ENCODED
    PATH_SCRIPTS = "path_scripts", _K.ENCODED
    NAME_RESERVED = "name_reserved", _K.RESERVED
    NAME_EDGES = "name_edges", _K.RESERVED
    NAME_SENSITIVE = "name_sensitive", _K.SENSITIVE
    NAME_COLLISION = "name_collision", _K.CASE
    OWN_FOLDER = "own_folder", _K.OURS
    GIT_FILE = "git_file", _K.REPOSITORY
    GIT_HOOKS_FOLDER = "git_hooks_folder", _K.REPOSITORY
    GIT_LIKE_FOLDER = "git_like_folder", _K.REPOSITORY
    INNER_REPOSITORY = "inner_repository", _K.REPOSITORY
    OUT_OF_SCOPE = "out_of_scope", _K.OUT_OF_SCOPE
    IGNORED = "ignored", _K.IGNORED

    # files as they are
    SYMLINK = "symlink", _K.LINK
    SYMLINK_ON_PATH = "symlink_on_path", _K.LINK
    FOLDER_SYMLINK = "folder_symlink", _K.LINK
    NOT_REGULAR = "not_regular", _K.NOT_A_FILE
    IS_FOLDER = "is_folder", _K.NOT_A_FILE
    NO_FOLDER_ON_PATH = "no_folder_on_path", _K.NOT_A_FILE
    PARENT_NOT_FOLDER = "parent_not_folder", _K.NOT_A_FILE
    UNREADABLE = "unreadable", _K.NOT_A_FILE
    FILE_TOO_LARGE = "file_too_large", _K.TOO_LARGE
    NOT_UTF8 = "not_utf8", _K.BINARY
    MISSING = "missing", _K.MISSING
    EXISTS = "exists", _K.EXISTS
    CREATE_EXISTING = "create_existing", _K.EXISTS
    EDIT_STALE = "edit_stale", _K.STALE
    DRAFT_STALE = "draft_stale", _K.STALE
    FILE_STALE = "file_stale", _K.STALE

    # what a change does
    UNREADABLE_REPLY = "unreadable_reply", _K.NOT_FOUND
    TOO_MANY_FILES = "too_many_files", _K.TOO_MANY
    FILE_AS_FOLDER = "file_as_folder", _K.CONTRADICTION
    DELETED_AND_WRITTEN = "deleted_and_written", _K.CONTRADICTION
    WRITTEN_TWICE = "written_twice", _K.CONTRADICTION
    SYMBOL_WRITTEN_TWICE = "symbol_written_twice", _K.CONTRADICTION
    RENAMED_TO_ITSELF = "renamed_to_itself", _K.CONTRADICTION
    EDITS_OVERLAP = "edits_overlap", _K.CONTRADICTION
    SEARCH_EMPTY = "search_empty", _K.AMBIGUOUS
    LINES_NOT_FOUND = "lines_not_found", _K.NOT_FOUND
    LINES_REPEATED = "lines_repeated", _K.AMBIGUOUS
    LINES_REPEATED_OFTEN = "lines_repeated_often", _K.AMBIGUOUS
    RESULT_TOO_LARGE = "result_too_large", _K.TOO_LARGE
    RESULT_BINARY = "result_binary", _K.BINARY
    REDACTION_MARK = "redaction_mark", _K.SECRET
    SECRET = "secret", _K.SECRET
    CONFLICT_MARKERS = "conflict_markers", _K.CONFLICT_MARKERS
    LEAKED_FENCE = "leaked_fence", _K.LEAKED_FENCE
    SYNTAX_BROKEN = "syntax_broken", _K.SYNTAX
    TEST_FILE_DELETED = "test_file_deleted", _K.TESTS_DELETED
    TESTS_REMOVED = "tests_removed", _K.TESTS_DELETED
    TESTS_EMPTIED = "tests_emptied", _K.TESTS_DELETED
    TESTS_SKIPPED = "tests_skipped", _K.TESTS_DELETED

    # the person's choice, and writing
    HUNK_UNKNOWN = "hunk_unknown", _K.NOT_FOUND
    HUNK_NOT_EDITABLE = "hunk_not_editable", _K.CONTRADICTION
    CHOICE_UNREADABLE = "choice_unreadable", _K.CONTRADICTION
    NO_HUNK_APPROVED = "no_hunk_approved", _K.CONTRADICTION
    BRANCH_MOVED = "branch_moved", _K.STALE
    OPERATION_PENDING = "operation_pending", _K.REPOSITORY
    UNCOMMITTED = "uncommitted", _K.UNCOMMITTED
    CONVERTED_BY_GIT = "converted_by_git", _K.FILTERED
    REPOSITORY_BARE = "repository_bare", _K.REPOSITORY
    REPOSITORY_UNREADABLE = "repository_unreadable", _K.REPOSITORY

    # one symbol in a file
    LANGUAGE_UNSUPPORTED = "language_unsupported", _K.LANGUAGE
    LANGUAGE_DIFFERS = "language_differs", _K.LANGUAGE
    TEXT_SYNTAX = "text_syntax", _K.SYNTAX
    RESULT_SYNTAX = "result_syntax", _K.SYNTAX
    SYMBOL_UNNAMED = "symbol_unnamed", _K.NOT_FOUND
    SYMBOL_NOT_IN_TEXT = "symbol_not_in_text", _K.NOT_FOUND
    SYMBOL_NOT_DEFINED = "symbol_not_defined", _K.NOT_FOUND
    SYMBOL_AMBIGUOUS = "symbol_ambiguous", _K.AMBIGUOUS
    TEXT_AMBIGUOUS = "text_ambiguous", _K.AMBIGUOUS
    DECLARATION_SHARED = "declaration_shared", _K.AMBIGUOUS
    KIND_DIFFERS = "kind_differs", _K.NOT_FOUND
    SINGLETON_CLASS_DIFFERS = "singleton_class_differs", _K.NOT_FOUND
    CONDITION_MISSING = "condition_missing", _K.NOT_FOUND
    CONTAINER_MISSING = "container_missing", _K.NOT_FOUND
    CONTAINER_AMBIGUOUS = "container_ambiguous", _K.AMBIGUOUS

    # merging candidates
    FIX_REMOVES_CODE = "fix_removes_code", _K.MISSING
    SEAT_LACKS_FILE = "seat_lacks_file", _K.MISSING
    SEAT_LACKS_IMPORTS = "seat_lacks_imports", _K.MISSING
    SEAT_LACKS_SYMBOL = "seat_lacks_symbol", _K.NOT_FOUND
    BASE_LACKS_FILE = "base_lacks_file", _K.MISSING
    BASE_LACKS_SYMBOL = "base_lacks_symbol", _K.NOT_FOUND
    SYMBOL_IN_SEVERAL_PLACES = "symbol_in_several_places", _K.AMBIGUOUS
    SYMBOL_DIFFERS = "symbol_differs", _K.AMBIGUOUS
    PROTOTYPE_STALE = "prototype_stale"
    FIELDS_MISSING = "fields_missing"
    SIGNATURE_DIFFERS = "signature_differs"
    IMPORT_DIFFERS = "import_differs"
    NOT_EXPORTED = "not_exported"

    # a directive that is not understood
    WORD_UNKNOWN = "word_unknown"
    WORD_AMBIGUOUS = "word_ambiguous"
    WORD_IN_REASON = "word_in_reason"
    NO_SEAT_NAMED = "no_seat_named"
    NO_PART_NAMED = "no_part_named"
    NO_REMOVAL_NAMED = "no_removal_named"
    SEVERAL_SEATS = "several_seats"
    SEVERAL_FILES = "several_files"
    SEVERAL_REQUESTS = "several_requests"
    REMOVAL_NOT_IN_BASE = "removal_not_in_base"
    WINNER_UNCLEAR = "winner_unclear"


class Refusal(msgspec.Struct, frozen=True, omit_defaults=True):
    """One refused operation: its path, if it has one, the code of the reason, and the facts that the reason names.

    An older record holds only a text: its code is `said`, and its facts are the text and the kind, if it had one.
    """

    path: str
    code: RefusalCode
    facts: dict[str, str | int] = {}

    @classmethod
    def of(cls, path: str, code: RefusalCode, /, **facts: str | int) -> Self:
        """Create a refusal with the facts that the sentence of its code needs."""
        return cls(path, code, facts)

    @property
    def kind(self) -> RefusalKind | None:
        """The kind that belongs to the code."""
        if self.code is RefusalCode.SAID and (kind := self.facts.get("kind")):
            return RefusalKind(kind)
        return self.code.kind


def distinct_refusals(refusals: Iterable[Refusal]) -> tuple[Refusal, ...]:
    """Each refusal once, in order."""
    kept: list[Refusal] = []
    for refusal in refusals:
        if refusal not in kept:
            kept.append(refusal)
    return tuple(kept)
