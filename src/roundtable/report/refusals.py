"""Sentences for refusals: the only place that words them."""

from __future__ import annotations

from collections.abc import Iterable
from string import Formatter

from roundtable.core.refusals import Refusal
from roundtable.core.refusals import RefusalCode as C

_REFUSED_EDIT = "{path} cannot be edited. "
_LOST_TESTS = "{count:The test|The tests} {names}{others: and # more} of {path} "
_TEMPLATES: dict[C, str] = {
    C.SAID: "{text}",
    C.PATH_EMPTY: "The path of a file is empty.",
    C.PATH_WITHOUT_NAME: "{path} names no file.",
    C.PATH_TOO_LONG: "A path is longer than file systems allow.",
    C.PATH_ABSOLUTE: "{path} is not relative to the workspace.",
    C.PATH_COMPONENT: "{path} contains an empty, `.` or `..` component.",
    C.PATH_BACKSLASH: "{path} contains backslashes; separate folders with `/`.",
    C.PATH_INVISIBLE: "{path} contains invisible characters.",
    C.PATH_PERCENT: "{path} contains percent-encoded characters.",
    C.PATH_LOOKALIKE: "{path} contains characters that can be mistaken for others.",
    C.PATH_SCRIPTS: "{path} mixes letters of several alphabets in one name, so some can be mistaken for others.",
    C.NAME_RESERVED: "{path} is not a valid file name on some operating systems.",
    C.NAME_EDGES: "{path} has a name that begins or ends with a space, or ends with a dot.",
    C.NAME_SENSITIVE: "{path} is named like a file that contains secrets.",
    C.NAME_COLLISION: "{path} differs from {other} only in case or in the encoding of its letters.",
    C.OWN_FOLDER: "{path} belongs to Roundtable's own folder.",
    C.GIT_FILE: "{path} belongs to git, or can make git download or run something.",
    C.GIT_HOOKS_FOLDER: "{path} is in a folder where git looks for hooks to run.",
    C.GIT_LIKE_FOLDER: "{path} is in a folder that git would treat as a repository.",
    C.INNER_REPOSITORY: "{path} lies in {folder}, which is a separate repository.",
    C.OUT_OF_SCOPE: "{path} is outside the allowed scope.",
    C.IGNORED: "{path} is ignored by git and was not named explicitly.",
    C.SYMLINK: "{path} is a symlink.",
    C.SYMLINK_ON_PATH: "{path} is a symlink or leads through one.",
    C.FOLDER_SYMLINK: "{folder} in {path} is a symlink.",
    C.NOT_REGULAR: "{path} is not a regular file.",
    C.IS_FOLDER: "{path} is a folder.",
    C.NO_FOLDER_ON_PATH: "{path} leads through something that is not a folder.",
    C.PARENT_NOT_FOLDER: "{folder} in {path} is not a folder.",
    C.UNREADABLE: "{path} cannot be read: {problem}.",
    C.FILE_TOO_LARGE: "{path} has {bytes:,} bytes; the limit is {limit:,}.",
    C.NOT_UTF8: "{path} is not UTF-8 text and cannot be edited line by line.",
    C.MISSING: "{path} does not exist.",
    C.EXISTS: "{path} already exists.",
    C.CREATE_EXISTING: "{path} cannot be created: it already exists.",
    C.EDIT_STALE: "{path} has changed since this edit was written.",
    C.DRAFT_STALE: "{path} has changed since it was drafted.",
    C.FILE_STALE: "{path} has changed since it was drafted; draft the change again.",
    C.UNREADABLE_REPLY: "{message}",
    C.TOO_MANY_FILES: "{path} exceeds the limit of {limit} files per change.",
    C.FILE_AS_FOLDER: "{folder} would be a file, but {path} needs it as a folder.",
    C.DELETED_AND_WRITTEN: "The change both deletes and writes {path}.",
    C.WRITTEN_TWICE: "The change writes {path} twice, with different contents.",
    C.SYMBOL_WRITTEN_TWICE: "The change writes {symbol} of {path} twice, with different contents.",
    C.RENAMED_TO_ITSELF: "{path} is renamed to itself.",
    C.EDITS_OVERLAP: _REFUSED_EDIT + "Two edits of this file change the same lines.",
    C.SEARCH_EMPTY: _REFUSED_EDIT + "An edit does not say which lines it replaces (its search text is empty).",
    C.LINES_NOT_FOUND: _REFUSED_EDIT + "The lines to replace were not found. They start with {line!r}.",
    C.LINES_REPEATED: _REFUSED_EDIT + "The lines to replace, which start with {line!r}, occur {count} times.",
    C.LINES_REPEATED_OFTEN: _REFUSED_EDIT
    + "The lines to replace, which start with {line!r}, occur more than {count} times.",
    C.RESULT_TOO_LARGE: "{path} would have {bytes:,} bytes; the limit is {limit:,}.",
    C.RESULT_BINARY: "{path} would contain bytes that are not text.",
    C.REDACTION_MARK: "{path} would contain a redaction mark in place of a secret.",
    C.SECRET: "{path} would contain what looks like a secret ({secret}).",
    C.CONFLICT_MARKERS: "{path} would contain unresolved merge conflict markers.",
    C.LEAKED_FENCE: "{path} would contain a code fence of the reply.",
    C.SYNTAX_BROKEN: "{path} would not parse: line {line} is not valid {language}.",
    C.TEST_FILE_DELETED: "{path} is a test file and would be deleted.",
    C.TESTS_REMOVED: _LOST_TESTS + "would be removed.",
    C.TESTS_EMPTIED: _LOST_TESTS + "would no longer check anything.",
    C.TESTS_SKIPPED: _LOST_TESTS + "would be skipped.",
    C.HUNK_UNKNOWN: "The plan has no hunk {path}.",
    C.HUNK_NOT_EDITABLE: "Hunk {hunk} cannot be edited: it was rejected, or it has no text.",
    C.CHOICE_UNREADABLE: "The answer does not say which hunks are approved.",
    C.NO_HUNK_APPROVED: "No hunk of the change was approved.",
    C.BRANCH_MOVED: "The branch moved while the change was being written; nothing was changed.",
    C.OPERATION_PENDING: "A {operation} is in progress in this repository; finish or abort it first.",
    C.UNCOMMITTED: "{path} has uncommitted changes.",
    C.CONVERTED_BY_GIT: "Git converts {path} on commit (because of its attributes or core.autocrlf). "
    "Edit this file by hand.",
    C.REPOSITORY_BARE: "{folder} is a bare repository, which has no files that could be changed.",
    C.REPOSITORY_UNREADABLE: "Git cannot read the commits of {folder}, so nothing is written there "
    "({problem:its .git folder is elsewhere}).",
    C.LANGUAGE_UNSUPPORTED: "The language of {path} is not supported for symbol edits.",
    C.LANGUAGE_DIFFERS: "The text is {language}, but {path} is {expected}.",
    C.TEXT_SYNTAX: "Line {line} of the text for {path} is not valid {language}.",
    C.RESULT_SYNTAX: "Line {line} of {path} would not be valid {language} with this change.",
    C.SYMBOL_UNNAMED: "The edit of {path} does not name a symbol.",
    C.SYMBOL_NOT_IN_TEXT: "The text for {symbol} must define {symbol}, but it defines {found:no named symbol}.",
    C.SYMBOL_NOT_DEFINED: "The inserted text would not define {symbol} in {path}.",
    C.SYMBOL_AMBIGUOUS: "{symbol} is ambiguous in {path}. Possible symbols: {candidates}.",
    C.TEXT_AMBIGUOUS: "{symbol} is ambiguous in the text. Possible symbols: {candidates}.",
    C.DECLARATION_SHARED: "{symbol} shares one declaration with other names, so it cannot be replaced alone.",
    C.KIND_DIFFERS: "{old} is a {old_kind} in {path}, but {new} is a {new_kind} in the text.",
    C.SINGLETON_CLASS_DIFFERS: "{symbol} is inside `class << self` in {path} or in the text, but not in both.",
    C.CONDITION_MISSING: "{symbol} is inside `{condition}`, but no symbol of {path} is.",
    C.CONTAINER_MISSING: "{path} has no {container}, so {symbol} cannot be added to it.",
    C.CONTAINER_AMBIGUOUS: "{path} has {count} definitions of {container}.",
    C.FIX_REMOVES_CODE: "A MUST_FIX directive asks for a fix, so it cannot remove code.",
    C.SEAT_LACKS_FILE: "{seat} has no file {path}.",
    C.SEAT_LACKS_IMPORTS: "{seat} has no file with imports that could be added to a file of the base.",
    C.SEAT_LACKS_SYMBOL: "{seat} has no {symbol} in {path:any file}.",
    C.BASE_LACKS_FILE: "The base has no file {path}. Take {seat}'s file as a whole.",
    C.BASE_LACKS_SYMBOL: "The base has no {symbol} in {path:any file}.",
    C.SYMBOL_IN_SEVERAL_PLACES: "{symbol} is ambiguous. Possible symbols: {candidates}.",
    C.SYMBOL_DIFFERS: "{symbol} is {in_base} in the base, but {in_seat} in {seat}'s {path}.",
    C.PROTOTYPE_STALE: "{path} still declares `{symbol}` as `{found}`.",
    C.FIELDS_MISSING: "The new code uses {fields}, but {symbol} has no such field in {path}.",
    C.SIGNATURE_DIFFERS: "The new code expects `{expected}`, but {path} has `{found}`.",
    C.IMPORT_DIFFERS: "The new code needs `{expected}`, but {path} has `{found}`.",
    C.NOT_EXPORTED: "{symbol} is exported in the file it comes from, but not in {path}.",
    C.WORD_UNKNOWN: "`{word}` is not a known seat, file or symbol.",
    C.WORD_AMBIGUOUS: "`{word}` is ambiguous: {candidates}.",
    C.WORD_IN_REASON: "It is unclear whether `{word}` is requested or belongs to the reason before it.",
    C.NO_SEAT_NAMED: "The directive names no seat.",
    C.NO_PART_NAMED: "The directive does not say what to take from {seat}.",
    C.NO_REMOVAL_NAMED: "The directive does not say what to remove.",
    C.SEVERAL_SEATS: "The directive names several seats.",
    C.SEVERAL_FILES: "The directive names several files.",
    C.SEVERAL_REQUESTS: "The directive asks for several things at once.",
    C.REMOVAL_NOT_IN_BASE: "Only code of the base can be removed, but the directive names {seat}.",
    C.WINNER_UNCLEAR: "The directive does not say clearly whose code to use.",
}


class _FactFormatter(Formatter):
    """Formats facts strictly: a missing one is an error.

    `{number:one|several}` chooses by the number, `{number: and # more}` is empty for zero, and `{text:word}` is the
    word if the text is empty.
    """

    def format_field(self, value: str | int, format_spec: str) -> str:
        """Return a fact as text."""
        if isinstance(value, str):
            return value or format_spec
        if "#" in format_spec:
            return format_spec.replace("#", str(value)) if value else ""
        one, bar, several = format_spec.partition("|")
        return (one if value == 1 else several) if bar else format(value, format_spec)


_FORMATTER = _FactFormatter()


def refusal_sentence(refusal: Refusal) -> str:
    """Why an operation or a directive is refused, in one sentence or two."""
    path = refusal.path if refusal.path.isprintable() else refusal.path.encode("ascii", "backslashreplace").decode()
    return _FORMATTER.vformat(_TEMPLATES[refusal.code], (), {"path": path, **refusal.facts})


def refusal_sentences(refusals: Iterable[Refusal]) -> str:
    """Several refusals as one text, each once."""
    return " ".join(dict.fromkeys(map(refusal_sentence, refusals)))


def refusal_sentence_fields(code: C) -> frozenset[str]:
    """The names of the facts that the sentence of a code needs, without the path."""
    return frozenset(field for _, field, *_ in _FORMATTER.parse(_TEMPLATES[code]) if field) - {"path"}
