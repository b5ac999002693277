"""Read the files that a seat wants to write, from named blocks or diffs, into a changeset.

A reply that leaves lines out with a remark such as `... rest unchanged` is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from roundtable.core.changeset import (
    Changeset,
    DeleteFile,
    EditBlock,
    EditFile,
    Operation,
    PutSymbol,
    RenameFile,
    ReplaceFile,
)
from roundtable.core.replies.codec import Codec, ReadReply, UnreadableReply
from roundtable.core.replies.file_blocks import (
    LONGEST_FILE_LINE,
    NON_FILE_LANGUAGES,
    SEARCH_MARK,
    FencedBlock,
    NamedFile,
    is_path_in_reply,
    is_reply_path_with_known_extension,
    parse_reply_file_name,
    split_reply_into_blocks,
    unquoted_reply_lines,
)
from roundtable.core.replies.git_diff import parse_git_diff_reply, reply_starts_like_diff
from roundtable.core.replies.structured import FAILED_VERDICT
from roundtable.core.values import Expect
from roundtable.core.verdict import Verdict

_REPLACE_MARK = r">{5,9}[ \t]*(?:REPLACE|UPDATED)[ \t]*"
_SEPARATOR_MARK = r"={5,9}[ \t]*"
_EDIT_MARK_LINE = re.compile(rf"^(?:{SEARCH_MARK}|{_REPLACE_MARK})$", re.I | re.M)
_EDIT_MARKS = tuple(re.compile(mark, re.I) for mark in (SEARCH_MARK, _SEPARATOR_MARK, _REPLACE_MARK))

_LINE_LEAD = r"[ \t]*(?:#{1,6}[ \t]+|[-*+][ \t]+|\d{1,2}[.)][ \t]+)?[*_]{0,3}"
_PATH = r"(\"[^\"]+\"|`[^`]+`|[`*\"']{0,3}[^\s`*\"']+[`*\"']{0,3})"
_FOR = r"(?:[ \t]+for=([\w.-]+))?[ \t]*\.?[ \t]*"
_FILE = r"(?:[ \t]+(?:the[ \t]+)?file)?[*_]*:?[*_]*[ \t]+"
_DELETE = re.compile(rf"{_LINE_LEAD}(DELETE|REMOVE){_FILE}{_PATH}{_FOR}", re.I)
_RENAME = re.compile(rf"{_LINE_LEAD}(RENAME|MOVE){_FILE}{_PATH}[ \t]+(?:->|=>|→|to)[ \t]+{_PATH}{_FOR}", re.I)

_EXAMPLE_FOLDER = "path/to/"
_PLACEHOLDER = "the complete new file, every line of it"

_OPENING = re.compile(r"[ \t]*(?:(?:#|//|--|;|%|/\*|<!--|\{/\*|\(|\[)[ \t]*)*")
_OPENING_IN_PROSE = re.compile(r"[ \t]*(?:(?:<!--|\{/\*|\(|\[)[ \t]*)*")
_MARKDOWN_FILES = (".md", ".mdx", ".markdown", ".rst")
"""Files in which `#` begins a heading and not a comment."""
_CLOSING = re.compile(r"[ \t]*(?:(?:\*/\}?|-->|\)|\])[ \t]*)*$")
_DOTS = re.compile(r"(?:\.{3,}|…)[ \t]*")
_AFTER_DOTS = re.compile(
    r"\(?(?:the[ \t]+|your[ \t]+)?"
    r"(?:rest|remaining|existing|other|previous|same|unchanged|omitted|more|as[ \t]before)\b.*",
    re.I,
)
_AFTER_CODE = re.compile(r"(?:the[ \t]+|your[ \t]+)?(?:(?:existing|unchanged|omitted|as[ \t]before)\b.*|rest)", re.I)
_CODE = r"code|functions?|methods?|tests?|imports?|lines|content|class(?:es)?|file|module|implementations?|definitions?"
_PART = rf"(?:{_CODE}|logic|helpers|routes|handlers|styles|rules|fields)\b"
_STAYS = (
    r"(?:[ \t]+(?:remains?|stays?|is|are|goes|go|kept|left|exactly))*[ \t]*"
    r"(?:unchanged|here|omitted|(?:the[ \t]+)?same|as[ \t]+(?:before|is|they[ \t]+(?:are|were)|it[ \t]+(?:is|was))"
    r"|\.{3}|…)(?!\w)(?:[ \t]+(?:as[ \t]before|for[ \t]brevity|below|above))?"
)
_ELISION_WORDS = re.compile(
    r"(?:(?:the|your|all|keep)[ \t]+)*(?:"
    r"(?:rest|remainder)[ \t]+of[ \t]+(?:(?:the|your|this)[ \t]+)?(?:[\w-]+[ \t]+){0,2}"
    rf"(?:(?:{_CODE})\b.*|{_PART}(?:{_STAYS})?)"
    rf"|(?:(?:rest|everything[ \t]else|others)|(?:existing|previous|remaining|unchanged|other)[ \t]+{_PART}){_STAYS}"
    rf"|(?:existing|unchanged)[ \t]+{_PART}"
    r"|[\w.()]+(?:(?:,|,?[ \t]and)[ \t]+[\w.()]+)+(?:[ \t]+(?:are|remain|stay))?[ \t]+unchanged"
    r"|unchanged|no[ \t]changes|same[ \t]as[ \t](?:before|above)"
    r")[ \t]*(?:\.{3,}|…|\.)?",
    re.I,
)
_LONGEST = 200
_SPREAD_FILES = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte", ".dart")
_SPREAD = re.compile(r"\.{3}\(?[A-Za-z_$][\w$]*(?![\w$]|[ \t]+(?!as\b|satisfies\b)[A-Za-z])")
"""Dots joined to a name, such as `...rest` in code; with more words after them they are prose."""
_FILES_WITHOUT_DOTS = (".json", ".html", ".htm", ".xml", ".css", ".scss", ".toml")
"""Files in which three dots on a line of their own are not code."""


def parse_reply_file_changes(text: str, producer: str = "", asked_by: str = "", scope: Sequence[str] = ()) -> Changeset:
    """The changeset of a reply or diff; raises UnreadableReply if it is ambiguous."""
    return Changeset(tuple(_operations(text)), producer, tuple(scope), asked_by)


def _operations(text: str) -> list[Operation]:
    diff = text.lstrip()
    operations = parse_git_diff_reply(diff) if diff.startswith("diff --git ") else list(_operations_in_reply(text))
    if not operations:
        raise UnreadableReply("No block in the reply names the file it is for.")
    for operation in operations:
        if operation.path.startswith(_EXAMPLE_FOLDER):
            raise UnreadableReply(
                f"{operation.path} is the placeholder path of the example. Use the real path of the file."
            )
    return list(dict.fromkeys(operations))


def _operations_in_reply(text: str) -> Iterator[Operation]:
    reply = split_reply_into_blocks(text)
    if any(_EDIT_MARK_LINE.match(line) for line in reply.prose):
        raise UnreadableReply("A search-and-replace edit is outside a fenced block. Put each one into a fenced block.")
    loose = "\n".join(reply.prose)
    if diff_start := re.search(r"^(?:diff --git |--- \S[^\n]*\n\+\+\+ \S[^\n]*\n@@ )", loose, re.M):
        yield from parse_git_diff_reply(loose[diff_start.start() :].rstrip("\n") + "\n")
    for line in unquoted_reply_lines(reply.prose):
        yield from _operations_on_line(line)
    unnamed: list[FencedBlock] = []
    for block in reply.blocks:
        if block.named is None and not _names_its_files(block):
            unnamed.append(block)
        else:
            yield from _operations_in_block(block)
    has_markdown_file = any(
        block.named and block.named.path.lower().endswith(_MARKDOWN_FILES) for block in reply.blocks
    )
    if has_markdown_file and any(not block.language for block in unnamed):
        raise UnreadableReply(
            "It is unclear where a file that contains ``` ends. Use four backticks around such a file."
        )
    code = [
        block for block in unnamed if block.language not in NON_FILE_LANGUAGES and (block.language or block.by_sentence)
    ]
    if any(block.text.strip() or block.by_sentence for block in code) or (
        unnamed and len(unnamed) == len(reply.blocks)
    ):
        raise UnreadableReply(
            "A block does not name the file it is for. Write the file's path on the line above the block."
        )


def _names_its_files(block: FencedBlock) -> bool:
    """Whether a block names its own files: a diff with headers, or lines that delete and rename."""
    lines = [line for line in block.text.split("\n") if line.strip()]
    return (bool(lines) and all(any(_operations_on_line(line)) for line in lines)) or reply_starts_like_diff(block.text)


def _operations_on_line(line: str) -> Iterator[Operation]:
    """A deletion or renaming on a line of its own."""
    if len(line) > LONGEST_FILE_LINE:
        return
    if match := _RENAME.fullmatch(line):
        old, new = _path_on_line(match[1], match[2]), _path_on_line(match[1], match[3])
        if old and new:
            yield RenameFile(old, new, asked_by=match[4] or "")
    elif match := _DELETE.fullmatch(line):
        known = (
            is_path_in_reply if match[2][0] in "`\"'" else is_reply_path_with_known_extension
        )  # `Remove try/except` is a remark
        if old := _path_on_line(match[1], match[2], known):
            yield DeleteFile(old, asked_by=match[3] or "")


def _path_on_line(verb: str, words: str, known: Callable[[str], bool] = is_path_in_reply) -> str:
    """The path on such a line; after a verb in lower case only an unmistakable path."""
    words = words.rstrip(".,;")
    if " " in words:
        return words[1:-1] if is_path_in_reply(words[1:-1]) else ""
    named = parse_reply_file_name(words)
    return named.path if named and (verb.isupper() or known(named.path)) else ""


def _operations_in_block(block: FencedBlock) -> Iterator[Operation]:
    named = block.named or NamedFile("")
    if reply_starts_like_diff(block.text):
        yield from parse_git_diff_reply(block.text.lstrip("\n"), named.path, named.asked_by)
    elif block.named is None:
        for line in block.text.split("\n"):
            yield from _operations_on_line(line)
    elif _EDIT_MARK_LINE.search(block.text):
        yield EditFile(named.path, tuple(_read_edits(block, named.path)), asked_by=named.asked_by)
    else:
        text = _without_placeholder(block.text)
        _reject_elisions(text, named.path)
        if block.language in ("diff", "patch"):
            raise UnreadableReply(
                f"The diff of {named.path} has no line numbers. Send the complete file, or a search-and-replace block."
            )
        if named.symbol:
            yield PutSymbol(named.path, named.symbol, text, asked_by=named.asked_by)
        else:
            yield ReplaceFile(named.path, text, asked_by=named.asked_by)


def _without_placeholder(text: str) -> str:
    """A file without the placeholder of the example, which small models copy and continue below."""
    first, _, rest = text.lstrip().partition("\n")
    return rest.lstrip("\n") if _is_placeholder(first) and rest.strip() else text


def _is_placeholder(text: str) -> bool:
    return text.strip().casefold() == _PLACEHOLDER


def _read_edits(block: FencedBlock, path: str) -> Iterator[EditBlock]:
    """The old and new lines of the edits in a block, which may hold nothing else but its name."""
    parts: list[list[str]] = []
    for line in block.text.removesuffix("\n").split("\n"):
        mark = next((number for number, pattern in enumerate(_EDIT_MARKS) if pattern.fullmatch(line)), None)
        if mark is None and parts:
            parts[-1].append(line)
        elif mark is None:
            if line.strip() and parse_reply_file_name(line) is None:
                raise _unclear_edit_error(path, line)
        elif mark != len(parts):
            raise _unclear_edit_error(path, line)
        elif mark < 2:
            parts.append([])
        else:
            old, new = parts
            old_lines = set(old)
            _reject_elisions("\n".join(line for line in new if line not in old_lines), path)
            yield EditBlock("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new))
            parts = []
    if parts:
        raise _unclear_edit_error(path, "".join(parts[-1][:1]))


def _reject_elisions(text: str, path: str) -> None:
    if _is_placeholder(text):
        raise UnreadableReply(f"The block for {path} only repeats the example. Write the file itself.")
    if any(_is_elision_line(line, path) for line in text.split("\n")):
        raise _elision_error(path)


def _unclear_edit_error(path: str, line: str) -> UnreadableReply:
    return UnreadableReply(f"The search-and-replace blocks of {path} are malformed at the line {line[:60]!r}.")


def _elision_error(path: str) -> UnreadableReply:
    return UnreadableReply(
        f"Part of {path} is omitted with a comment such as `… rest unchanged`. "
        "Write every line, or use a search-and-replace block."
    )


def _read_changes(reply: str, expect: Expect) -> ReadReply:
    """Read a reply with file changes. An unnamed block is for the only writable file, if there is exactly one."""
    text = _name_only_block(reply, expect.choices[0]) if len(expect.choices) == 1 else reply
    try:
        parse_reply_file_changes(text)
    except UnreadableReply as unreadable:
        return ReadReply(reply.strip(), FAILED_VERDICT, unreadable.message, hollow=_has_only_file_names(reply))
    return ReadReply(text.strip(), Verdict())


def _has_only_file_names(reply: str) -> bool:
    """Whether a reply holds nothing but names of files."""
    lines = [line for line in reply.split("\n") if line.strip() and not line.lstrip().startswith("```")]
    return all(len(line) <= LONGEST_FILE_LINE and parse_reply_file_name(line) is not None for line in lines)


def _name_only_block(reply: str, path: str) -> str:
    """The reply with the path above its only possible block, if no block is named."""
    try:
        parts = split_reply_into_blocks(reply)
    except UnreadableReply:
        return reply
    blocks = [block for block in parts.blocks if block.language not in NON_FILE_LANGUAGES and block.text.strip()]
    if len(blocks) != 1 or any(block.named or _names_its_files(block) for block in parts.blocks):
        return reply
    lines = reply.replace("\r\n", "\n").split("\n")
    return "\n".join((*lines[: blocks[0].line], path, *lines[blocks[0].line :]))


def _parts_instructions(expect: Expect) -> str:
    return f"""{_whole_file_instructions(expect)}

For a file of more than 300 lines, write only the changed parts. Copy the old lines exactly:

```python path={_EXAMPLE_FOLDER}file.py
<<<<<<< SEARCH
old lines
=======
new lines
>>>>>>> REPLACE
```"""


def _whole_file_instructions(expect: Expect) -> str:
    path = expect.choices[0] if expect.choices else f"{_EXAMPLE_FOLDER}file.py"
    only = f"You may change only: {', '.join(expect.choices)}.\n\n" if expect.choices else ""
    return f"""{only}Write each file that you change or add as one fenced block with every line of the file. \
The line that opens the block names the path:

```python path={path}
{_PLACEHOLDER}
```

Close each block before the next. Never leave lines out with a comment such as "rest unchanged".
Only if the task requires it: a line outside the blocks such as `DELETE {path}` deletes a file, and \
`RENAME {path} -> {_EXAMPLE_FOLDER}other.py` renames it.
Use four backticks around a file that contains ```."""


def _is_elision_line(line: str, path: str = "") -> bool:
    """Whether a line is a remark such as `# ... rest unchanged`.

    A bare `...` is Python; a comment of dots is not.
    """
    pattern = _OPENING_IN_PROSE if path.lower().endswith(_MARKDOWN_FILES) else _OPENING
    opening = pattern.match(line)
    if opening is None or len(line) > _LONGEST:
        return False
    inner = _CLOSING.sub("", line[opening.end() :], count=1)
    remark = bool(opening[0].strip())
    if path.lower().endswith(_SPREAD_FILES) and not opening[0].strip(" \t([") and _SPREAD.match(inner):
        return False
    if dots := _DOTS.match(inner):
        remainder = inner[dots.end() :]
        if remainder.startswith(("#", "//")):
            return _AFTER_CODE.fullmatch(remainder.lstrip("#/ \t")) is not None
        ends_there = remainder.strip(", \t") == ""
        return (
            remark or path.lower().endswith(_FILES_WITHOUT_DOTS)
            if ends_there
            else _AFTER_DOTS.fullmatch(remainder) is not None
        )
    return remark and _ELISION_WORDS.fullmatch(inner) is not None


CHANGES_CODEC = Codec("changes", read_text=_read_changes, text_format=_whole_file_instructions)
CHANGES_IN_PARTS_CODEC = Codec("changes-in-parts", read_text=_read_changes, text_format=_parts_instructions)


def is_reply_changes_codec(name: str) -> bool:
    """Whether replies in this codec are changes of files."""
    return name in (CHANGES_CODEC.name, CHANGES_IN_PARTS_CODEC.name)


LONG_FILE_BYTES = 12_000
"""Of files longer than this, only changed parts have to be written; for shorter ones that confuses small models."""


def choose_reply_changes_codec(sizes: Iterable[int]) -> str:
    """The name of the reply format for changes to files of these sizes: whole files, or parts where a file is long."""
    return (CHANGES_IN_PARTS_CODEC if any(size > LONG_FILE_BYTES for size in sizes) else CHANGES_CODEC).name
