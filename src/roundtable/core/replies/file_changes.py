"""How a seat that has no hands writes files: blocks that name their path, read into a changeset or not at all.

Lines that stand for others which somebody did not want to write out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

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
    has_known_file_ending,
    looks_like_file_path,
    parse_file_name,
    split_reply_into_blocks,
    unquoted_prose_lines,
)
from roundtable.core.replies.git_diff import parse_git_diff, starts_like_diff
from roundtable.core.replies.structured import FAILED_VERDICT
from roundtable.core.values import Expect
from roundtable.core.verdict import Verdict

_REPLACE = r">{5,9}[ \t]*(?:REPLACE|UPDATED)[ \t]*"
_BETWEEN = r"={5,9}[ \t]*"
_MARKED = re.compile(rf"^(?:{SEARCH_MARK}|{_REPLACE})$", re.I | re.M)
_MARKS = tuple(re.compile(mark, re.I) for mark in (SEARCH_MARK, _BETWEEN, _REPLACE))

_LEAD = r"[ \t]*(?:#{1,6}[ \t]+|[-*+][ \t]+|\d{1,2}[.)][ \t]+)?[*_]{0,3}"
_PATH = r"(\"[^\"]+\"|`[^`]+`|[`*\"']{0,3}[^\s`*\"']+[`*\"']{0,3})"
_FOR = r"(?:[ \t]+for=([\w.-]+))?[ \t]*\.?[ \t]*"
_FILE = r"(?:[ \t]+(?:the[ \t]+)?file)?[*_]*:?[*_]*[ \t]+"
_DELETE = re.compile(rf"{_LEAD}(DELETE|REMOVE){_FILE}{_PATH}{_FOR}", re.I)
_RENAME = re.compile(rf"{_LEAD}(RENAME|MOVE){_FILE}{_PATH}[ \t]+(?:->|=>|→|to)[ \t]+{_PATH}{_FOR}", re.I)

_EXAMPLE = "path/to/"
_UNFILLED = "the whole new file, every line of it"
_PROSE = (".md", ".mdx", ".markdown", ".rst")


def parse_file_changes(text: str, producer: str = "", asked_by: str = "", scope: Sequence[str] = ()) -> Changeset:
    """What a reply, or a diff, wants to be written; raises Unreadable where that is not plain."""
    return Changeset(tuple(_operations(text)), producer, tuple(scope), asked_by)


def _operations(text: str) -> list[Operation]:
    diff = text.lstrip()
    found = parse_git_diff(diff) if diff.startswith("diff --git ") else list(_in_reply(text))
    if not found:
        raise UnreadableReply("No block of the reply says which file it is for.")
    for operation in found:
        if operation.path.startswith(_EXAMPLE):
            raise UnreadableReply(f"{operation.path} is only the example's name for a file. Name the real one.")
    return list(dict.fromkeys(found))


def _in_reply(text: str) -> Iterator[Operation]:
    reply = split_reply_into_blocks(text)
    if any(_MARKED.match(line) for line in reply.prose):
        raise UnreadableReply("A search-and-replace block stands outside of a fence. Put each one into a fenced block.")
    loose = "\n".join(reply.prose)
    if at := re.search(r"^(?:diff --git |--- \S[^\n]*\n\+\+\+ \S[^\n]*\n@@ )", loose, re.M):
        yield from parse_git_diff(loose[at.start() :].rstrip("\n") + "\n")
    for line in unquoted_prose_lines(reply.prose):
        yield from _in_line(line)
    nameless = [block for block in reply.blocks if block.named is None and not _says_itself(block)]
    for block in reply.blocks:
        if block not in nameless:
            yield from _in_block(block)
    prose = any(block.named and block.named.path.lower().endswith(_PROSE) for block in reply.blocks)
    if prose and any(not block.language for block in nameless):
        raise UnreadableReply(
            "It is not plain where a file with ``` in it ends. Use four backticks around such a file."
        )
    code = [
        block
        for block in nameless
        if block.language not in NON_FILE_LANGUAGES and (block.language or block.by_sentence)
    ]
    if any(block.text.strip() or block.by_sentence for block in code) or (
        nameless and len(nameless) == len(reply.blocks)
    ):
        raise UnreadableReply("A block does not say which file it is for. Write the file's path on the line above it.")


def _says_itself(block: FencedBlock) -> bool:
    """Whether a block needs no name: a diff with a head, or lines that delete and rename."""
    lines = [line for line in block.text.split("\n") if line.strip()]
    return (bool(lines) and all(any(_in_line(line)) for line in lines)) or starts_like_diff(block.text)


def _in_line(line: str) -> Iterator[Operation]:
    """A file that goes or gets another name, on a line of its own."""
    if len(line) > LONGEST_FILE_LINE:
        return
    if match := _RENAME.fullmatch(line):
        old, new = _told(match[1], match[2]), _told(match[1], match[3])
        if old and new:
            yield RenameFile(old, new, asked_by=match[4] or "")
    elif match := _DELETE.fullmatch(line):
        known = (
            looks_like_file_path if match[2][0] in "`\"'" else has_known_file_ending
        )  # `Remove try/except` is a remark
        if old := _told(match[1], match[2], known):
            yield DeleteFile(old, asked_by=match[3] or "")


def _told(verb: str, words: str, known: Callable[[str], bool] = looks_like_file_path) -> str:
    """The path that a line tells of; behind a verb in small letters, only what nobody takes for anything else."""
    words = words.rstrip(".,;")
    if " " in words:
        return words[1:-1] if looks_like_file_path(words[1:-1]) else ""
    named = parse_file_name(words)
    return named.path if named and (verb.isupper() or known(named.path)) else ""


def _in_block(block: FencedBlock) -> Iterator[Operation]:
    named = block.named or NamedFile("")
    if starts_like_diff(block.text):
        yield from parse_git_diff(block.text.lstrip("\n"), named.path, named.asked_by)
    elif block.named is None:
        for line in block.text.split("\n"):
            yield from _in_line(line)
    elif _MARKED.search(block.text):
        yield EditFile(named.path, tuple(_edits(block, named.path)), asked_by=named.asked_by)
    else:
        text = _without_the_example(block.text)
        _check_whole(text, named.path)
        if block.language in ("diff", "patch"):
            raise UnreadableReply(
                f"The diff of {named.path} has no line numbers. Send the whole file, or search and replace."
            )
        if named.symbol:
            yield PutSymbol(named.path, named.symbol, text, asked_by=named.asked_by)
        else:
            yield ReplaceFile(named.path, text, asked_by=named.asked_by)


def _without_the_example(text: str) -> str:
    """A file without the words that stand for one in the example: small models copy them, and go on below."""
    first, _, rest = text.lstrip().partition("\n")
    return rest.lstrip("\n") if _is_unfilled(first) and rest.strip() else text


def _is_unfilled(text: str) -> bool:
    return text.strip().casefold() == _UNFILLED


def _edits(block: FencedBlock, path: str) -> Iterator[EditBlock]:
    """The old and the new lines between the marks of one block, besides which it has nothing but its name."""
    parts: list[list[str]] = []
    for line in block.text.removesuffix("\n").split("\n"):
        mark = next((number for number, it in enumerate(_MARKS) if it.fullmatch(line)), None)
        if mark is None and parts:
            parts[-1].append(line)
        elif mark is None:
            if line.strip() and parse_file_name(line) is None:
                raise _not_plain(path, line)
        elif mark != len(parts):
            raise _not_plain(path, line)
        elif mark < 2:
            parts.append([])
        else:
            old, new = parts
            known = set(old)
            _check_whole("\n".join(line for line in new if line not in known), path)
            yield EditBlock("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new))
            parts = []
    if parts:
        raise _not_plain(path, "".join(parts[-1][:1]))


def _check_whole(text: str, path: str) -> None:
    if _is_unfilled(text):
        raise UnreadableReply(f"The block of {path} only repeats the example. Write the file itself.")
    if any(is_elision_line(line, path) for line in text.split("\n")):
        raise _left_out(path)


def _not_plain(path: str, line: str) -> UnreadableReply:
    return UnreadableReply(f"The search-and-replace blocks of {path} are not plain: see the line {line[:60]!r}.")


def _left_out(path: str) -> UnreadableReply:
    return UnreadableReply(
        f"Part of {path} is left out with a remark such as `… rest unchanged`. "
        "Write every line, or use search and replace for a part."
    )


def _read(reply: str, expect: Expect) -> ReadReply:
    """A reply that says what to write. A block without a name is for the one file there is to be written, if so."""
    text = _with_target(reply, expect.choices[0]) if len(expect.choices) == 1 else reply
    try:
        parse_file_changes(text)
    except UnreadableReply as unreadable:
        return ReadReply(reply.strip(), FAILED_VERDICT, unreadable.message, hollow=_only_names(reply))
    return ReadReply(text.strip(), Verdict())


def _only_names(reply: str) -> bool:
    """Whether nothing stands in a reply but the names of files, in fences or not."""
    lines = [line for line in reply.split("\n") if line.strip() and not line.lstrip().startswith("```")]
    return all(len(line) <= LONGEST_FILE_LINE and parse_file_name(line) is not None for line in lines)


def _with_target(reply: str, path: str) -> str:
    """The reply with the path above its only block that could be the file, where none is named."""
    try:
        taken = split_reply_into_blocks(reply)
    except UnreadableReply:
        return reply
    blocks = [block for block in taken.blocks if block.language not in NON_FILE_LANGUAGES and block.text.strip()]
    if len(blocks) != 1 or any(block.named or _says_itself(block) for block in taken.blocks):
        return reply
    lines = reply.replace("\r\n", "\n").split("\n")
    return "\n".join((*lines[: blocks[0].line], path, *lines[blocks[0].line :]))


def _in_parts(expect: Expect) -> str:
    return f"""{_whole(expect)}

Of a file of more than 300 lines, write the changed parts alone. Copy the old lines exactly:

```python path={_EXAMPLE}file.py
<<<<<<< SEARCH
old lines
=======
new lines
>>>>>>> REPLACE
```"""


def _whole(expect: Expect) -> str:
    path = expect.choices[0] if expect.choices else f"{_EXAMPLE}file.py"
    only = f"You may change only: {', '.join(expect.choices)}.\n\n" if expect.choices else ""
    return f"""{only}Write each file that you change or add as one fenced block, whole, every line of it. \
The line that opens the block names the path:

```python path={path}
{_UNFILLED}
```

Close each block before the next. Never leave lines out with a remark such as "rest unchanged".
Only where the task calls for it: a line outside of the blocks such as `DELETE {path}` deletes a file, and \
`RENAME {path} -> {_EXAMPLE}other.py` gives it another name.
Around a file with ``` in it, use four backticks."""


CHANGES_CODEC = Codec("changes", read_text=_read, text_format=_whole)
CHANGES_IN_PARTS_CODEC = Codec("changes-in-parts", read_text=_read, text_format=_in_parts)


_OPENING = re.compile(r"[ \t]*(?:(?:#|//|--|;|%|/\*|<!--|\{/\*|\(|\[)[ \t]*)*")
_OPENING_IN_PROSE = re.compile(r"[ \t]*(?:(?:<!--|\{/\*|\(|\[)[ \t]*)*")
_PROSE_LINE = (".md", ".mdx", ".markdown", ".rst")
"""Files in which `#` opens a heading and no remark."""
_CLOSING = re.compile(r"[ \t]*(?:(?:\*/\}?|-->|\)|\])[ \t]*)*$")
_DOTS = re.compile(r"(?:\.{3,}|…)[ \t]*")
_AFTER_DOTS = re.compile(
    r"\(?(?:the[ \t]+|your[ \t]+)?"
    r"(?:rest|remaining|existing|other|previous|same|unchanged|omitted|more|as[ \t]before)\b.*",
    re.I,
)
_AFTER_CODE = re.compile(r"(?:the[ \t]+|your[ \t]+)?(?:(?:existing|unchanged|omitted|as[ \t]before)\b.*|rest)", re.I)
_CODE = r"code|functions?|methods?|tests?|imports?|lines|content|class(?:es)?|file|module|implementations?|definitions?"
_THING = rf"(?:{_CODE}|logic|helpers|routes|handlers|styles|rules|fields)\b"
_STAYS = (
    r"(?:[ \t]+(?:remains?|stays?|is|are|goes|go|kept|left|exactly))*[ \t]*"
    r"(?:unchanged|here|omitted|(?:the[ \t]+)?same|as[ \t]+(?:before|is|they[ \t]+(?:are|were)|it[ \t]+(?:is|was))"
    r"|\.{3}|…)(?!\w)(?:[ \t]+(?:as[ \t]before|for[ \t]brevity|below|above))?"
)
_WORDS = re.compile(
    r"(?:(?:the|your|all|keep)[ \t]+)*(?:"
    r"(?:rest|remainder)[ \t]+of[ \t]+(?:(?:the|your|this)[ \t]+)?(?:[\w-]+[ \t]+){0,2}"
    rf"(?:(?:{_CODE})\b.*|{_THING}(?:{_STAYS})?)"
    rf"|(?:(?:rest|everything[ \t]else|others)|(?:existing|previous|remaining|unchanged|other)[ \t]+{_THING}){_STAYS}"
    rf"|(?:existing|unchanged)[ \t]+{_THING}"
    r"|[\w.()]+(?:(?:,|,?[ \t]and)[ \t]+[\w.()]+)+(?:[ \t]+(?:are|remain|stay))?[ \t]+unchanged"
    r"|unchanged|no[ \t]changes|same[ \t]as[ \t](?:before|above)"
    r")[ \t]*(?:\.{3,}|…|\.)?",
    re.I,
)
_LONGEST = 200
_SPREADING = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte", ".dart")
_SPREAD = re.compile(r"\.{3}\(?[A-Za-z_$][\w$]*(?![\w$]|[ \t]+(?!as\b|satisfies\b)[A-Za-z])")
"""Dots that are joined to a name, as `...rest` in code; more words behind it are prose."""
_WITHOUT_DOTS = (".json", ".html", ".htm", ".xml", ".css", ".scss", ".toml")
"""Files in which three dots alone on a line are no code."""


def is_elision_line(line: str, path: str = "") -> bool:
    """Whether a line is a remark such as `# ... rest unchanged`; a bare `...` is Python, a remark of dots is not."""
    opening = (_OPENING_IN_PROSE if path.lower().endswith(_PROSE_LINE) else _OPENING).match(line)
    if opening is None or len(line) > _LONGEST:
        return False
    inner = _CLOSING.sub("", line[opening.end() :], count=1)
    remark = bool(opening[0].strip())
    if path.lower().endswith(_SPREADING) and not opening[0].strip(" \t([") and _SPREAD.match(inner):
        return False
    if dots := _DOTS.match(inner):
        rest = inner[dots.end() :]
        if rest.startswith(("#", "//")):
            return _AFTER_CODE.fullmatch(rest.lstrip("#/ \t")) is not None
        bare = rest.strip(", \t") == ""
        return remark or path.lower().endswith(_WITHOUT_DOTS) if bare else _AFTER_DOTS.fullmatch(rest) is not None
    return remark and _WORDS.fullmatch(inner) is not None
