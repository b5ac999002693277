"""The fenced blocks of a reply and the file that each is for, in all the ways in which models name it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

import msgspec

from roundtable.core.replies.codec import UnreadableReply

_FENCE = re.compile(r"[ \t]{0,8}(?:[-*+][ \t]+|\d{1,2}[.)][ \t]+)?(`{3,}|~{3,})([^\n]*)")
_KNOWN_ENDINGS = re.compile(
    "bash|cc?|cfg|cpp|css?|csv|go|h|hpp|html|ini|java|jsx?|json|kt|lua|md|mjs|php|pl|proto|pyi?|rb|rs|rst|"
    "scala|scss|sh|sql|svelte|swift|toml|tsx?|txt|vue|xml|ya?ml",
    re.I,
)
_NAMES_WITHOUT_ENDING = re.compile(r"Makefile|Dockerfile|Gemfile|Rakefile|Procfile|LICENSE|README")
_NAMES_A_FILE = re.compile(rf"{_NAMES_WITHOUT_ENDING.pattern}|.*\.[A-Za-z0-9_+-]{{1,16}}")
_KEYED = re.compile(r"(?<![\w-])(path|file|filename|title|name|for)\s*[=:]\s*(\"[^\"]*\"|'[^']*'|`[^`]*`|\S+)", re.I)
_PATH_KEYS = ("path", "file", "filename")
"""Keys that can only name the file."""
_NAME_COMPANION = re.compile(r"\W+|file(?:name)?:?|path:?|title:?|[\w-]+=\S*", re.I)
"""Words that may appear next to a file name without being part of it."""
_JOINED = re.compile(r"([\w+#-]+):(?=[^:/\\])")
_LINE_DECORATION = re.compile(r"^[ \t]*+(?:#{1,6}[ \t]++|[-*+][ \t]++|\d{1,2}[.)][ \t]++)*+|(?<![ \t])[ \t]++$")
_LABEL = re.compile(
    r"^(?:file(?:name|[ \t]*path)?(?:[ \t]+\d+)?|path|new file|create|update|modify|edit|change)[ \t]*:?[ \t]+", re.I
)
_KIND_OF_FILE = re.compile(
    r"^(?:(?:and|the|a|new|changed|modified|updated|main|source|test|tests)[ \t]+){1,4}file[ \t]*:?[ \t]+", re.I
)
"""Words that describe a file; what follows is its name only if it has a known file ending."""
_NAME_SUFFIX = re.compile(
    r"(?<![ \t])[ \t]*+\((?:new|updated?|modified|changed|created?|edit(?:ed)?|new file|full file)\)$", re.I
)
_OUTSIDE_PATH = re.compile(r"[/~\\]|[A-Za-z][\w+.-]*:")
_WITH_AN_ENDING = re.compile(r".+\.[A-Za-z][A-Za-z0-9_+-]{0,15}")
_SPANS = (re.compile(r"`([^`\n]+)`"), re.compile(r"\*\*([^*\n]+)\*\*"))
_FILE_INTRODUCTION = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]|(?:[-*+][ \t]+|\d{1,2}[.)][ \t]+)?(?:`|\*\*))"
    r"|.*\b(?:updated?|changed?|rewr[oi]te|rewritten|new|created?|add(?:ed)?|complete|whole|full)\b",
    re.I,
)
"""A line that introduces a file or says that it is written, rather than talking about its use."""
_COMMENT = re.compile(
    r"[ \t]*(?:#(?!!)|//|--|;|%|/\*|<!--)++[ \t]*"
    r"(?:(?:file[ _-]?(?:name|path)?|path)[ \t]*[:=][ \t]*)?(\S+?)[ \t]*(?:\*/|-->)?[ \t]*$",
    re.I,
)
_LONE = re.compile(r"(?:path=)?((?:[\w.-]+/)*[\w.-]+)[ \t]*")
_LANGUAGE_ENDINGS = {
    **dict.fromkeys(("python", "py"), ("py",)),
    **dict.fromkeys(("javascript", "js", "jsx"), ("js", "mjs", "jsx")),
    **dict.fromkeys(("typescript", "ts", "tsx"), ("ts", "tsx")),
    **dict.fromkeys(("cpp", "c++"), ("cpp", "cc", "hpp", "h")),
    **dict.fromkeys(("csharp", "cs"), ("cs",)),
    **dict.fromkeys(("ruby", "rb"), ("rb",)),
    **dict.fromkeys(("rust", "rs"), ("rs",)),
    "c": ("c", "h"),
    "go": ("go",),
    "java": ("java",),
    "php": ("php",),
}
"""File endings by language: a line of code with only such a name is not code."""

_COMMAND_LANGUAGES = frozenset({"bash", "sh", "zsh", "shell", "shell-session", "console", "terminal"})
NON_FILE_LANGUAGES = _COMMAND_LANGUAGES | {"output", "log", "text", "txt", "plaintext"}
"""Languages of blocks that are no files: commands and their output."""
_DIFF_LANGUAGES = ("diff", "patch")
SEARCH_MARK = r"<{5,9}[ \t]*(?:SEARCH|ORIGINAL)[ \t]*"
"""The line above the old lines of an edit."""
_MOST_KINDS_OF_FENCES = 32
"""Most lengths and indentations of fences in one reply: each is matched over the whole reply."""
_MOST_BLOCKS = 2_000
"""Most fenced blocks of one reply."""
LONGEST_FILE_LINE = 2_000
"""Longest line that can name a file."""


class NamedFile(msgspec.Struct, frozen=True):
    """A path, a symbol within the file, and the request it serves."""

    path: str
    symbol: str = ""
    asked_by: str = ""


class FencedBlock(msgspec.Struct, frozen=True):
    """A fenced block: its language, its file, its text and the line of its fence.

    `by_sentence` is whether only a sentence above it names the file.
    """

    language: str
    named: NamedFile | None
    text: str
    line: int
    by_sentence: bool = False


class ReplyBlocks(msgspec.Struct, frozen=True):
    """The blocks of a reply and the lines around them."""

    blocks: tuple[FencedBlock, ...]
    prose: tuple[str, ...]


def split_reply_into_blocks(text: str) -> ReplyBlocks:
    """Split a reply into blocks and prose, with plain line endings.

    A diff keeps its CRLF line endings unless its own fence has them: they belong to the file.
    """
    exact = text.rstrip().split("\n")
    lines = [line.removesuffix("\r") for line in exact]
    blocks: list[FencedBlock] = []
    prose: list[str] = []
    fences = _Fences(lines)
    index = prose_start = 0
    while index < len(lines):
        opening = _opening_fence(lines[index])
        if opening is None or _is_stray(lines, index, opening):
            prose.append(lines[index])
            index += 1
            continue
        repeated = _repeated_fence_line(lines, index, *opening, prose)
        if repeated:
            index = _drop_repeated_fence(lines, exact, index, repeated)
        end, following = fences.find_block_end(index, repeated or index, opening[0])
        keeps_crlf = opening[1] in _DIFF_LANGUAGES and not exact[index].endswith("\r")
        above = prose[prose_start:] if _is_aside(opening[1], lines[index + 1 : end]) else prose
        block = _build_block(exact if keeps_crlf else lines, index, end, opening[1], above)
        blocks += (
            _split_at_file_comments(block)
            if _is_named_inside(block, opening[1], lines[index + 1 : end], above)
            else (block,)
        )
        if len(blocks) > _MOST_BLOCKS:
            raise UnreadableReply(f"The reply has more than {_MOST_BLOCKS:,} fenced blocks. Send fewer.")
        prose.append("")
        index, prose_start = following, len(prose)
    return ReplyBlocks(tuple(_apply_name_blocks(_drop_names_from_sentences(blocks), lines)), tuple(prose))


def parse_reply_file_name(words: str) -> NamedFile | None:
    """The file named by a few words such as `src/a.py` or `src/a.py::login`; None if they say anything else."""
    plain = _strip_decoration(_strip_decoration(words.strip()).rstrip(":"))
    named = _split_symbol(plain)
    if not named.path or len(named.path) > 1024 or "://" in plain or re.search(r"\s", plain):
        return None
    return named if "/" in named.path or _NAMES_A_FILE.fullmatch(named.path) else None


def _strip_decoration(words: str) -> str:
    """The words without surrounding quotes and emphasis; a single underscore belongs to the name."""
    plain = words.strip("`*\"'")
    emphasis = re.fullmatch(r"(_{1,3})([^_].*[^_])\1", plain)
    return emphasis[2].strip("`*\"'") if emphasis else plain


def _split_symbol(plain: str) -> NamedFile:
    path, _, symbol = plain.partition("::")
    return NamedFile(path.removeprefix("./"), symbol.removesuffix("()"))


def _opening_fence(line: str) -> tuple[str, str] | None:
    """The fence on a line and the words after it."""
    match = _FENCE.fullmatch(line)
    if match is None or (match[1][0] == "`" and "`" in match[2].replace("``", "")):
        return None
    return match[1], match[2].strip(" \t")


def _is_stray(lines: Sequence[str], index: int, opening: tuple[str, str]) -> bool:
    """Whether a fence is superfluous: the last line of the reply, directly after a closed block."""
    if opening[1] or index + 1 != len(lines):
        return False
    above = next((line for line in reversed(lines[:index]) if line.strip()), "")
    return _opening_fence(above) == opening


def _is_named_inside(block: FencedBlock, info: str, body: Sequence[str], prose: Sequence[str]) -> bool:
    """Whether only a comment on its first line names the file of a block without edits."""
    language, named = _parse_fence_info(info)
    named_outside = named or _file_by_line_above(prose, language)
    first = _file_by_comment(body[0]) if body and not named_outside else None
    return first is not None and first == block.named and not _has_edits(body)


def _has_edits(body: Sequence[str]) -> bool:
    return any(re.match(SEARCH_MARK, line, re.I) for line in body)


def _split_at_file_comments(block: FencedBlock) -> Iterator[FencedBlock]:
    """Split a block at comments that name another file and follow a blank line."""
    body: list[str] = []
    for line in block.text.split("\n"):
        named = _file_by_comment(line) if line[:1].strip() and body and not body[-1].strip() else None
        if named and _names_another_file(named, block) and "\n".join(body).strip():
            yield msgspec.structs.replace(block, text="\n".join(body).rstrip() + "\n")
            block, body = msgspec.structs.replace(block, named=named), []
        else:
            body.append(line)
    yield msgspec.structs.replace(block, text="\n".join(body))


def _names_another_file(named: NamedFile, block: FencedBlock) -> bool:
    """Whether a comment names another file by its full path; a bare name is only a remark."""
    assert block.named is not None
    ending = block.named.path.rpartition(".")[2]
    return named != block.named and "/" in named.path and named.path.rpartition(".")[2] == ending


def _is_aside(info: str, body: Sequence[str]) -> bool:
    """Whether a block cannot be for the file that the previous block was named for."""
    language = _parse_fence_info(info)[0]
    return (not language or language in NON_FILE_LANGUAGES or not any(map(str.strip, body))) and not _has_edits(body)


def _drop_names_from_sentences(blocks: Sequence[FencedBlock]) -> list[FencedBlock]:
    """The blocks, without names that only a sentence gives where another block is named properly.

    A reply that names its files also shows how they are used; remarks alone are no file either.
    """
    others = any(block.named and not block.by_sentence for block in blocks)
    return [
        msgspec.structs.replace(block, named=None)
        if block.by_sentence and (others or _has_only_comments(block))
        else block
        for block in blocks
    ]


def _has_only_comments(block: FencedBlock) -> bool:
    lines = [line.lstrip() for line in block.text.split("\n") if line.strip()]
    return block.language in _LANGUAGE_ENDINGS and bool(lines) and all(line.startswith(("#", "//")) for line in lines)


def _repeated_fence_line(lines: Sequence[str], index: int, fence: str, info: str, prose: Sequence[str]) -> int:
    """The line of a repeated fence after the name of the file; 0 if there is none. No code file begins with a fence."""
    language, named = _parse_fence_info(info)
    above = named or _file_by_line_above(prose, language)
    is_code = language in _LANGUAGE_ENDINGS and (
        above is None or above.path.rpartition(".")[2] in _LANGUAGE_ENDINGS[language]
    )
    if is_code and index + 1 < len(lines) and _opening_fence(lines[index + 1]) == (fence, language):
        return index + 1
    if named is None:
        if index + 1 == len(lines) or above or not _file_by_lone_name(lines[index + 1], language):
            return 0
        index += 1
    repeated = _opening_fence(lines[index + 1]) if index + 1 < len(lines) else None
    return index + 1 if language and repeated == (fence, language) else 0


def _drop_repeated_fence(lines: list[str], exact: list[str], index: int, repeated: int) -> int:
    """Remove a repeated fence by moving the lines above it down, so that no later line moves; return the new start."""
    for text in (lines, exact):
        text[index + 1 : repeated + 1] = text[index:repeated]
        text[index] = ""
    return index + 1


def _apply_name_blocks(blocks: Sequence[FencedBlock], lines: Sequence[str]) -> Iterator[FencedBlock]:
    """The blocks, with a block that holds only a name used as the name of the next."""
    name_block: FencedBlock | None = None
    for block in blocks:
        if name_block and name_block.named:
            has_text_between = any(map(str.strip, lines[name_block.line + 3 : block.line]))
            if block.named or block.language != name_block.language or has_text_between or not block.text.strip():
                raise _name_only_error(name_block.named)
            block = msgspec.structs.replace(block, named=name_block.named)
            name_block = None
        elif block.named is None and (named := _file_by_lone_name(block.text.removesuffix("\n"), block.language)):
            name_block = msgspec.structs.replace(block, named=named)
            continue
        yield block
    if name_block and name_block.named:
        raise _name_only_error(name_block.named)


def _name_only_error(named: NamedFile) -> UnreadableReply:
    return UnreadableReply(
        f"The block for {named.path} contains only the file's name. Write the complete file into the block."
    )


class _Fences:
    """Finds where blocks end. Each kind of fence is matched once for the whole reply, however many blocks it has."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._marks = [
            (index, mark, lines[index].index(mark[0]))
            for index, mark in enumerate(map(_opening_fence, lines))
            if mark is not None
        ]
        self._ends: dict[tuple[str, int], tuple[list[int], dict[int, int]]] = {}

    def find_block_end(self, start: int, last: int, fence: str) -> tuple[int, int]:
        """The line where a block ends, and where to continue; `last` is the last line of its opening.

        Inner fences with a language need their own closing fence, and deeper fences belong to the file. An unclosed
        block ends at the next file.
        """
        column = self._lines[start].index(fence)
        for deepest in (column, column + 3):
            if closing := self._find_closing_fence(last, fence, deepest):
                return closing, closing + 1
        for index in range(last + 1, len(self._lines)):
            mark = _opening_fence(self._lines[index])
            if mark is not None and mark[0] == fence and _parse_fence_info(mark[1])[1] is not None:
                return index, index
        raise UnreadableReply(
            "A fenced block is not closed. Close every block. Use four backticks around a file that contains ```."
        )

    def _find_closing_fence(self, last: int, fence: str, deepest: int) -> int:
        """The line that closes a fence at most this deep; 0 if there is none before the next file."""
        key = fence, deepest
        if key not in self._ends:
            if len(self._ends) >= _MOST_KINDS_OF_FENCES:
                raise UnreadableReply("The reply has too many kinds of fences. Use four backticks for every block.")
            self._ends[key] = self._match_fences(fence, deepest)
        openings, ends = self._ends[key]
        before = bisect_right(openings, last)
        return ends.get(openings[before - 1], 0) if before else 0

    def _match_fences(self, fence: str, deepest: int) -> tuple[list[int], dict[int, int]]:
        """The lines of all fences at most this deep, and for each the line that would close a block opened there."""
        openings: list[int] = []
        ends: dict[int, int] = {}
        unclosed: dict[int, list[int]] = {}
        depth = 0
        for index, (marks, info), column in self._marks:
            if column > deepest or not marks.startswith(fence):
                continue
            if not info:
                ends.update(dict.fromkeys(unclosed.pop(depth, ()), index))
            depth += 1 if info else -1
            unclosed.setdefault(depth, []).append(index)
            openings.append(index)
        return openings, ends


def _build_block(lines: Sequence[str], start: int, end: int, info: str, prose: Sequence[str]) -> FencedBlock:
    body = list(lines[start + 1 : end])
    indent = len(lines[start]) - len(lines[start].lstrip())
    if indent and all(line[:indent].strip() == "" for line in body):
        body = [line[indent:] for line in body]
    language, named = _parse_fence_info(info)
    if named is None:
        named = _file_by_line_above(prose, language)
    elif not named.asked_by:
        named = msgspec.structs.replace(named, asked_by=_asked_by(_line_above(prose)))
    if body and (first := _file_by_name_line(body, language, named)):
        named, body = named or first, body[1:]
    by_sentence = named is None and language not in NON_FILE_LANGUAGES
    if by_sentence and (mentioned := _file_by_sentence(_line_above(prose), language)):
        named = msgspec.structs.replace(mentioned, asked_by=_asked_by(_line_above(prose)))
    text = "".join(f"{line}\n" for line in body)
    is_only_mentioned = (
        by_sentence and named is not None and not (_FILE_INTRODUCTION.match(_line_above(prose)) or _has_edits(body))
    )
    return FencedBlock(language, named, text, start, is_only_mentioned)


def _file_by_name_line(body: Sequence[str], language: str, named: NamedFile | None) -> NamedFile | None:
    """The file named by a first line that is not part of the file; a list of files names none."""
    rest = [line.strip() for line in body[1:] if line.strip()]
    lone = _file_by_lone_name(body[0], language) if rest else None
    if lone and (_file_by_lone_name(rest[0], language) or rest[0].endswith("/")):
        lone = None
    if named:
        return lone if lone and lone.path == named.path else None
    return lone or _file_by_comment(body[0])


def _parse_fence_info(info: str) -> tuple[str, NamedFile | None]:
    """The language and the file after a fence, such as `python src/a.py`, `python:src/a.py` or `path=src/a.py`.

    A path after its key is accepted as it is; whether it may be written is decided elsewhere.
    """
    info = re.sub(r"[{}]|(?<=[{ ])\.(?=\w+\b(?![/.]))", " ", info) if info.startswith("{") else info
    fields = {match[1].lower(): match for match in _KEYED.finditer(info)}
    asked_by = _key_value(fields.pop("for")) if "for" in fields else ""
    plain = _NAME_SUFFIX.sub("", _KEYED.sub(" ", info))
    if prefix := _JOINED.match(plain):
        plain = f"{prefix[1]} {plain[prefix.end() :]}"
    words = plain.split()
    language = words[0].lower() if words else ""
    if path_field := next((fields[key] for key in _PATH_KEYS if key in fields), None):
        _reject_ambiguous_path(_NAME_SUFFIX.sub("", _KEYED.sub(" ", info[path_field.end() :])).split(), info)
        return language, msgspec.structs.replace(_split_symbol(_key_value(path_field)), asked_by=asked_by)
    for value in (*map(_key_value, fields.values()), *words):
        if named := parse_reply_file_name(value):
            _reject_ambiguous_path([word for word in words[1:] if word != value], info)
            language = "" if language == value.lower() else language
            return language, msgspec.structs.replace(named, asked_by=asked_by)
    return language, None


def _key_value(keyed: re.Match[str]) -> str:
    return keyed[2].strip("\"'`") if keyed[2][0] in "\"'`" else keyed[2].rstrip(":,;")


def _reject_ambiguous_path(other_words: Sequence[str], info: str) -> None:
    """Raise if other words could be part of the name."""
    if not all(map(_NAME_COMPANION.fullmatch, other_words)):
        raise UnreadableReply(
            f"It is unclear which file the block after {info[:80]!r} is for. "
            'Quote a path that contains a space, as in path="my notes.txt".'
        )


def _line_above(prose: Sequence[str]) -> str:
    """The last line of text above, at most two blank lines away."""
    line = next((line for line in reversed(prose[-3:]) if line.strip()), "")
    return line if len(line) <= LONGEST_FILE_LINE else ""


def _asked_by(line: str) -> str:
    match = re.search(r"\bfor=([\w.-]+)", line)
    return match[1] if match else ""


def _file_by_line_above(prose: Sequence[str], language: str) -> NamedFile | None:
    line = _line_above(prose)
    asked_by = _asked_by(line)
    words = _NAME_SUFFIX.sub("", _LINE_DECORATION.sub("", line.replace(f"for={asked_by}", "") if asked_by else line))
    plain = _strip_decoration(words.strip())
    bare = _strip_decoration(plain.rstrip(":"))
    named = (
        parse_reply_file_name(_LABEL.sub("", plain))
        or parse_reply_file_name(_LABEL.sub("", bare))
        or _file_by_description(bare)
    )
    if named is None or _is_heading_with_slash(words, named.path) or not _can_hold_language(named.path, language):
        return None
    return msgspec.structs.replace(named, asked_by=asked_by)


def _is_heading_with_slash(words: str, path: str) -> bool:
    """Whether it is a heading such as `macOS/Linux` rather than a path."""
    set_off = "`" in words or _LABEL.match(words) is not None
    return not (set_off or path.islower() or is_reply_path_with_known_extension(path) or "." in path)


def _can_hold_language(path: str, language: str) -> bool:
    """Whether a block of this language can be the file: commands are not code, and `Session.login` is no file."""
    ending = path.rpartition(".")[2].lower()
    if language in _COMMAND_LANGUAGES:
        return not any(ending in endings for endings in _LANGUAGE_ENDINGS.values())
    return (
        language not in _LANGUAGE_ENDINGS
        or "/" in path
        or path.startswith(".")
        or is_reply_path_with_known_extension(path)
    )


def _file_by_description(words: str) -> NamedFile | None:
    """The file named by words such as `Test file a.py`."""
    named = parse_reply_file_name(_KIND_OF_FILE.sub("", words)) if _KIND_OF_FILE.match(words) else None
    return named if named and _KNOWN_ENDINGS.fullmatch(named.path.rpartition(".")[2]) else None


def _file_by_sentence(line: str, language: str) -> NamedFile | None:
    """The only file that a sentence highlights; for code it must have a known ending."""
    is_file = is_reply_path_with_known_extension if language in _LANGUAGE_ENDINGS else is_path_in_reply
    spans = (parse_reply_file_name(span_text) for span in _SPANS for span_text in span.findall(line))
    files = {
        file.path: file for file in spans if file and is_file(file.path) and not _is_heading_with_slash(line, file.path)
    }
    return next(iter(files.values())) if len(files) == 1 else None


def is_path_in_reply(path: str) -> bool:
    """Whether a word in a sentence is a file."""
    return "/" in path or is_reply_path_with_known_extension(path)


def is_reply_path_with_known_extension(path: str) -> bool:
    """Whether a path has a known ending or is a well-known name without one."""
    name = path.rpartition("/")[2]
    _, dot, ending = name.rpartition(".")
    return _NAMES_WITHOUT_ENDING.fullmatch(name) is not None or (
        bool(dot) and _KNOWN_ENDINGS.fullmatch(ending) is not None
    )


def _file_by_comment(line: str) -> NamedFile | None:
    """The file named by a comment, only if it looks like a path of the project."""
    match = _COMMENT.fullmatch(line) if len(line) <= LONGEST_FILE_LINE else None
    named = parse_reply_file_name(match[1]) if match else None
    if named is None or _OUTSIDE_PATH.match(named.path):
        return None
    folder, _, name = named.path.rpartition("/")
    return named if is_path_in_reply(name) or (folder and _WITH_AN_ENDING.fullmatch(name)) else None


def _file_by_lone_name(line: str, language: str) -> NamedFile | None:
    """The file named alone on a line of code, with an ending of its language."""
    match = _LONE.fullmatch(line) if len(line) <= LONGEST_FILE_LINE else None
    named = parse_reply_file_name(match[1]) if match else None
    return named if named and named.path.rpartition(".")[2] in _LANGUAGE_ENDINGS.get(language, ()) else None


def unquoted_reply_lines(prose: Sequence[str]) -> Iterator[str]:
    """The lines of prose that are not blank and not block quotes."""
    return (line for line in prose if line.strip() and not line.lstrip().startswith(">"))
