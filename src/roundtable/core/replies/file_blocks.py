"""The fenced blocks of a reply and the file that each is for, in the ways in which models name it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from roundtable.core.replies.codec import UnreadableReply

_FENCE = re.compile(r"[ \t]{0,8}(?:[-*+][ \t]+|\d{1,2}[.)][ \t]+)?(`{3,}|~{3,})([^\n]*)")
_SPOKEN_FILES = re.compile(
    "bash|cc?|cfg|cpp|css?|csv|go|h|hpp|html|ini|java|jsx?|json|kt|lua|md|mjs|php|pl|proto|pyi?|rb|rs|rst|"
    "scala|scss|sh|sql|svelte|swift|toml|tsx?|txt|vue|xml|ya?ml",
    re.I,
)
_BARE = re.compile(r"Makefile|Dockerfile|Gemfile|Rakefile|Procfile|LICENSE|README")
_NAMES_A_FILE = re.compile(rf"{_BARE.pattern}|.*\.[A-Za-z0-9_+-]{{1,16}}")
_KEYED = re.compile(r"(?<![\w-])(path|file|filename|title|name|for)\s*[=:]\s*(\"[^\"]*\"|'[^']*'|`[^`]*`|\S+)", re.I)
_FINAL = ("path", "file", "filename")
"""Keys that say nothing else than which file it is."""
_BESIDE_A_NAME = re.compile(r"\W+|file(?:name)?:?|path:?|title:?|[\w-]+=\S*", re.I)
"""Words that may stand beside a file's name without being part of it."""
_JOINED = re.compile(r"([\w+#-]+):(?=[^:/\\])")
_DECORATION = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|[-*+][ \t]+|\d{1,2}[.)][ \t]+)*|[ \t]+$")
_LABEL = re.compile(
    r"^(?:file(?:name|[ \t]*path)?(?:[ \t]+\d+)?|path|new file|create|update|modify|edit|change)[ \t]*:?[ \t]+", re.I
)
_KIND_OF_FILE = re.compile(
    r"^(?:(?:and|the|a|new|changed|modified|updated|main|source|test|tests)[ \t]+){1,4}file[ \t]*:?[ \t]+", re.I
)
"""Words that say what a file is; what follows them is its name only if it ends as files do."""
_AFTER_NAME = re.compile(r"[ \t]*\((?:new|updated?|modified|changed|created?|edit(?:ed)?|new file|full file)\)$", re.I)
_ELSEWHERE = re.compile(r"[/~\\]|[A-Za-z][\w+.-]*:")
_WITH_AN_ENDING = re.compile(r".+\.[A-Za-z][A-Za-z0-9_+-]{0,15}")
_SPANS = (re.compile(r"`([^`\n]+)`"), re.compile(r"\*\*([^*\n]+)\*\*"))
_LABELS = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]|(?:[-*+][ \t]+|\d{1,2}[.)][ \t]+)?(?:`|\*\*))"
    r"|.*\b(?:updated?|changed?|rewr[oi]te|rewritten|new|created?|add(?:ed)?|complete|whole|full)\b",
    re.I,
)
"""A line that sets a file off, or says that it is written: no talk about how something is used."""
_COMMENT = re.compile(
    r"[ \t]*(?:#(?!!)|//|--|;|%|/\*|<!--)+[ \t]*"
    r"(?:(?:file[ _-]?(?:name|path)?|path)[ \t]*[:=][ \t]*)?(\S+?)[ \t]*(?:\*/|-->)?[ \t]*$",
    re.I,
)
_LONE = re.compile(r"(?:path=)?((?:[\w.-]+/)*[\w.-]+)[ \t]*")
_ENDINGS = {
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
"""How the files of a language end: a line of code that is nothing but such a name is no code."""

_COMMANDS = frozenset({"bash", "sh", "zsh", "shell", "shell-session", "console", "terminal"})
NON_FILE_LANGUAGES = _COMMANDS | {"output", "log", "text", "txt", "plaintext"}
"""What is shown in passing: commands to run and what they print."""
_DIFFS = ("diff", "patch")
SEARCH_MARK = r"<{5,9}[ \t]*(?:SEARCH|ORIGINAL)[ \t]*"
"""The line that opens the old lines of an edit."""
LONGEST_FILE_LINE = 2_000
"""A line that names a file is not longer."""


class NamedFile(msgspec.Struct, frozen=True):
    """A path, what within it, and what asked for it."""

    path: str
    symbol: str = ""
    asked_by: str = ""


class FencedBlock(msgspec.Struct, frozen=True):
    """What stands between two fences: its language, what it is for, its text, and the line it opens on.

    `by_sentence` is whether nothing but a sentence above it says what it could be for.
    """

    language: str
    named: NamedFile | None
    text: str
    line: int
    by_sentence: bool = False


class ReplyBlocks(msgspec.Struct, frozen=True):
    """A reply in its blocks, and the lines around them."""

    blocks: tuple[FencedBlock, ...]
    prose: tuple[str, ...]


def split_reply_into_blocks(text: str) -> ReplyBlocks:
    """The blocks of a reply and the prose between them, with plain line ends.

    A diff keeps the line ends that it has within a block that is not written with such itself: they are the files'.
    """
    exact = text.rstrip().split("\n")
    lines = [line.removesuffix("\r") for line in exact]
    blocks: list[FencedBlock] = []
    prose: list[str] = []
    at = behind = 0
    while at < len(lines):
        opening = _opening(lines[at])
        if opening is None or _is_stray(lines, at, opening):
            prose.append(lines[at])
            at += 1
            continue
        if echo := _echo(lines, at, *opening, prose):
            del lines[echo], exact[echo]
        end, following = _end(lines, at, opening[0])
        own = opening[1] in _DIFFS and not exact[at].endswith("\r")
        above = prose[behind:] if _in_passing(opening[1], lines[at + 1 : end]) else prose
        block = _block(exact if own else lines, at, end, opening[1], above)
        blocks += _file_by_file(block) if _is_named_inside(block, opening[1], lines[at + 1 : end], above) else (block,)
        prose.append("")
        at, behind = following, len(prose)
    return ReplyBlocks(tuple(_named_by_the_one_before(_without_talk(blocks), lines)), tuple(prose))


def parse_file_name(words: str) -> NamedFile | None:
    """What a few words name, if that is all they do: `src/a.py`, `src/a.py::login`."""
    plain = _undecorated(_undecorated(words.strip()).rstrip(":"))
    named = _named(plain)
    if not named.path or len(named.path) > 1024 or "://" in plain or re.search(r"\s", plain):
        return None
    return named if "/" in named.path or _NAMES_A_FILE.fullmatch(named.path) else None


def _undecorated(words: str) -> str:
    """Without quotes and emphasis around them; an underscore on one side alone belongs to the name."""
    plain = words.strip("`*\"'")
    emphasis = re.fullmatch(r"(_{1,3})([^_].*[^_])\1", plain)
    return emphasis[2].strip("`*\"'") if emphasis else plain


def _named(plain: str) -> NamedFile:
    path, _, symbol = plain.partition("::")
    return NamedFile(path.removeprefix("./"), symbol.removesuffix("()"))


def _opening(line: str) -> tuple[str, str] | None:
    """The fence that a line opens and the words behind it."""
    match = _FENCE.fullmatch(line)
    if match is None or (match[1][0] == "`" and "`" in match[2].replace("``", "")):
        return None
    return match[1], match[2].strip(" \t")


def _is_stray(lines: Sequence[str], at: int, opening: tuple[str, str]) -> bool:
    """Whether a fence is one too many: the last thing in a reply, with nothing between it and the end of a block."""
    above = next((line for line in reversed(lines[:at]) if line.strip()), "")
    return not opening[1] and at + 1 == len(lines) and _opening(above) == opening


def _is_named_inside(block: FencedBlock, info: str, body: Sequence[str], prose: Sequence[str]) -> bool:
    """Whether nothing but its own first line, a comment, says which file a block is for, and it holds no edits."""
    language, named = _by_info(info)
    named_outside = named or _by_line_above(prose, language)
    first = _by_first_line(body[0]) if body and not named_outside else None
    return first is not None and first == block.named and not _has_edits(body)


def _has_edits(body: Sequence[str]) -> bool:
    return any(re.match(SEARCH_MARK, line, re.I) for line in body)


def _file_by_file(block: FencedBlock) -> Iterator[FencedBlock]:
    """A block that a comment names, taken apart where another such comment stands behind a blank line."""
    body: list[str] = []
    for line in block.text.split("\n"):
        named = _by_first_line(line) if line[:1].strip() and body and not body[-1].strip() else None
        if named and _is_another_of_its_kind(named, block) and "\n".join(body).strip():
            yield msgspec.structs.replace(block, text="\n".join(body).rstrip() + "\n")
            block, body = msgspec.structs.replace(block, named=named), []
        else:
            body.append(line)
    yield msgspec.structs.replace(block, text="\n".join(body))


def _is_another_of_its_kind(named: NamedFile, block: FencedBlock) -> bool:
    """Whether a comment names another file by its whole path; the bare name of one is a remark about it."""
    assert block.named is not None
    ending = block.named.path.rpartition(".")[2]
    return named != block.named and "/" in named.path and named.path.rpartition(".")[2] == ending


def _in_passing(info: str, body: Sequence[str]) -> bool:
    """Whether a block is not for the file of the one before it, where nothing stands between the two."""
    language = _by_info(info)[0]
    return (not language or language in NON_FILE_LANGUAGES or not any(map(str.strip, body))) and not _has_edits(body)


def _without_talk(blocks: Sequence[FencedBlock]) -> list[FencedBlock]:
    """The blocks, where a sentence names the file of one only if no other has a name of its own.

    Whoever can name a file shows with the others how it is used; and remarks alone are no file either.
    """
    others = any(block.named and not block.by_sentence for block in blocks)
    return [
        msgspec.structs.replace(block, named=None)
        if block.by_sentence and (others or _has_only_remarks(block))
        else block
        for block in blocks
    ]


def _has_only_remarks(block: FencedBlock) -> bool:
    lines = [line.lstrip() for line in block.text.split("\n") if line.strip()]
    return block.language in _ENDINGS and bool(lines) and all(line.startswith(("#", "//")) for line in lines)


def _echo(lines: Sequence[str], at: int, fence: str, info: str, prose: Sequence[str]) -> int:
    """Where the same fence stands once more, behind that which names the file of its block; 0 where it does not.

    No file of code begins with one.
    """
    language, named = _by_info(info)
    above = named or _by_line_above(prose, language)
    is_code = language in _ENDINGS and (above is None or above.path.rpartition(".")[2] in _ENDINGS[language])
    if is_code and at + 1 < len(lines) and _opening(lines[at + 1]) == (fence, language):
        return at + 1
    if named is None:
        if at + 1 == len(lines) or above or not _lone_name(lines[at + 1], language):
            return 0
        at += 1
    again = _opening(lines[at + 1]) if at + 1 < len(lines) else None
    return at + 1 if language and again == (fence, language) else 0


def _named_by_the_one_before(blocks: Sequence[FencedBlock], lines: Sequence[str]) -> Iterator[FencedBlock]:
    """The blocks without those that have nothing but a name in them: that is the name of the next one."""
    told: FencedBlock | None = None
    for block in blocks:
        if told and told.named:
            between = any(map(str.strip, lines[told.line + 3 : block.line]))
            if block.named or block.language != told.language or between or not block.text.strip():
                raise _only_named(told.named)
            block = msgspec.structs.replace(block, named=told.named)
            told = None
        elif block.named is None and (named := _lone_name(block.text.removesuffix("\n"), block.language)):
            told = msgspec.structs.replace(block, named=named)
            continue
        yield block
    if told and told.named:
        raise _only_named(told.named)


def _only_named(named: NamedFile) -> UnreadableReply:
    return UnreadableReply(
        f"The block of {named.path} has nothing but its name in it. Write the whole file into the block."
    )


def _end(lines: Sequence[str], start: int, fence: str) -> tuple[int, int]:
    """Where a block ends, and where to read on. Fences inside that say their language are closed by one of their own.

    Those that stand deeper than the one that opens it belong to the file, unless nothing else would close it.
    One that is never closed ends where the next block of a file begins.
    """
    for deeper in (0, 3):
        if closing := _closing(lines, start, fence, lines[start].index(fence) + deeper):
            return closing, closing + 1
    for at in range(start + 1, len(lines)):
        mark = _opening(lines[at])
        if mark is not None and mark[0] == fence and _by_info(mark[1])[1] is not None:
            return at, at
    raise UnreadableReply(
        "A fenced block is not closed. Close every block; around a file with ``` in it, use four backticks."
    )


def _closing(lines: Sequence[str], start: int, fence: str, deepest: int) -> int:
    """Where a fence is closed by one that stands no deeper than so; 0 where it is not, or the next file comes first."""
    inner = 0
    for at in range(start + 1, len(lines)):
        mark = _opening(lines[at])
        if mark is None or not mark[0].startswith(fence) or lines[at].index(mark[0]) > deepest:
            continue
        if mark[1]:
            inner += 1
        elif inner:
            inner -= 1
        else:
            return at
    return 0


def _block(lines: Sequence[str], start: int, end: int, info: str, prose: Sequence[str]) -> FencedBlock:
    body = list(lines[start + 1 : end])
    indent = len(lines[start]) - len(lines[start].lstrip())
    if indent and all(line[:indent].strip() == "" for line in body):
        body = [line[indent:] for line in body]
    language, named = _by_info(info)
    if named is None:
        named = _by_line_above(prose, language)
    elif not named.asked_by:
        named = msgspec.structs.replace(named, asked_by=_asked_by(_above(prose)))
    if body and (first := _by_first_line_of(body, language, named)):
        named, body = named or first, body[1:]
    by_sentence = named is None and language not in NON_FILE_LANGUAGES
    if by_sentence and (said := _in_a_sentence(_above(prose), language)):
        named = msgspec.structs.replace(said, asked_by=_asked_by(_above(prose)))
    text = "".join(f"{line}\n" for line in body)
    in_talk = by_sentence and named is not None and not (_LABELS.match(_above(prose)) or _has_edits(body))
    return FencedBlock(language, named, text, start, in_talk)


def _by_first_line_of(body: Sequence[str], language: str, named: NamedFile | None) -> NamedFile | None:
    """What the first line of a block names, where that line is no part of the file; a list of files names none."""
    rest = [line.strip() for line in body[1:] if line.strip()]
    lone = _lone_name(body[0], language) if rest else None
    if lone and (_lone_name(rest[0], language) or rest[0].endswith("/")):
        lone = None
    if named:
        return lone if lone and lone.path == named.path else None
    return lone or _by_first_line(body[0])


def _by_info(info: str) -> tuple[str, NamedFile | None]:
    """The language and what is named behind a fence, as `python src/a.py`, `python:src/a.py` or `path=src/a.py`.

    A path behind its key is the path, whatever it looks like: whether it may be written is for others to say.
    """
    info = re.sub(r"[{}]|(?<=[{ ])\.(?=\w+\b(?![/.]))", " ", info) if info.startswith("{") else info
    keyed = {match[1].lower(): match for match in _KEYED.finditer(info)}
    asked_by = _value(keyed.pop("for")) if "for" in keyed else ""
    plain = _AFTER_NAME.sub("", _KEYED.sub(" ", info))
    if joined := _JOINED.match(plain):
        plain = f"{joined[1]} {plain[joined.end() :]}"
    words = plain.split()
    language = words[0].lower() if words else ""
    if final := next((keyed[key] for key in _FINAL if key in keyed), None):
        _check_alone(_AFTER_NAME.sub("", _KEYED.sub(" ", info[final.end() :])).split(), info)
        return language, msgspec.structs.replace(_named(_value(final)), asked_by=asked_by)
    for words_of_it in (*map(_value, keyed.values()), *words):
        if named := parse_file_name(words_of_it):
            _check_alone([word for word in words[1:] if word != words_of_it], info)
            language = "" if language == words_of_it.lower() else language
            return language, msgspec.structs.replace(named, asked_by=asked_by)
    return language, None


def _value(keyed: re.Match[str]) -> str:
    return keyed[2].strip("\"'`") if keyed[2][0] in "\"'`" else keyed[2].rstrip(":,;")


def _check_alone(beside: Sequence[str], info: str) -> None:
    """Words that could be part of the name make it another one."""
    if not all(map(_BESIDE_A_NAME.fullmatch, beside)):
        raise UnreadableReply(
            f"It is not plain which file the block behind {info[:80]!r} is for. "
            'Put a path with a blank in it between quotes, as in path="my notes.txt".'
        )


def _above(prose: Sequence[str]) -> str:
    """The last line above that says anything; only a blank line or two may stand between."""
    line = next((line for line in reversed(prose[-3:]) if line.strip()), "")
    return line if len(line) <= LONGEST_FILE_LINE else ""


def _asked_by(line: str) -> str:
    match = re.search(r"\bfor=([\w.-]+)", line)
    return match[1] if match else ""


def _by_line_above(prose: Sequence[str], language: str) -> NamedFile | None:
    line = _above(prose)
    asked_by = _asked_by(line)
    words = _AFTER_NAME.sub("", _DECORATION.sub("", line.replace(f"for={asked_by}", "") if asked_by else line))
    plain = _undecorated(words.strip())
    bare = _undecorated(plain.rstrip(":"))
    named = parse_file_name(_LABEL.sub("", plain)) or parse_file_name(_LABEL.sub("", bare)) or _of_a_kind(bare)
    if named is None or _is_a_heading(words, named.path) or not _may_hold(named.path, language):
        return None
    return msgspec.structs.replace(named, asked_by=asked_by)


def _is_a_heading(words: str, path: str) -> bool:
    """Whether it is two words such as `macOS/Linux`, that nothing but a slash makes a path."""
    set_off = "`" in words or _LABEL.match(words) is not None
    return not (set_off or path.islower() or has_known_file_ending(path) or "." in path)


def _may_hold(path: str, language: str) -> bool:
    """Whether a block of this language may be that file: commands are no code, and `Session.login` holds none."""
    ending = path.rpartition(".")[2].lower()
    if language in _COMMANDS:
        return not any(ending in endings for endings in _ENDINGS.values())
    return language not in _ENDINGS or "/" in path or path.startswith(".") or has_known_file_ending(path)


def _of_a_kind(words: str) -> NamedFile | None:
    """What `Test file a.py` names."""
    named = parse_file_name(_KIND_OF_FILE.sub("", words)) if _KIND_OF_FILE.match(words) else None
    return named if named and _SPOKEN_FILES.fullmatch(named.path.rpartition(".")[2]) else None


def _in_a_sentence(line: str, language: str) -> NamedFile | None:
    """The one file that a sentence sets off from its other words; of code, one that ends as files do."""
    is_file = has_known_file_ending if language in _ENDINGS else looks_like_file_path
    spans = (parse_file_name(words) for span in _SPANS for words in span.findall(line))
    found = {it.path: it for it in spans if it and is_file(it.path) and not _is_a_heading(line, it.path)}
    return next(iter(found.values())) if len(found) == 1 else None


def looks_like_file_path(path: str) -> bool:
    """Whether people would take a word for a file in the middle of a sentence."""
    return "/" in path or has_known_file_ending(path)


def has_known_file_ending(path: str) -> bool:
    """Whether a path has an ending that people know, or is one of the few names that need none."""
    name = path.rpartition("/")[2]
    _, dot, ending = name.rpartition(".")
    return _BARE.fullmatch(name) is not None or (bool(dot) and _SPOKEN_FILES.fullmatch(ending) is not None)


def _by_first_line(line: str) -> NamedFile | None:
    """A comment says much: only what looks like a file of the project, down to its ending, is taken for its name."""
    match = _COMMENT.fullmatch(line) if len(line) <= LONGEST_FILE_LINE else None
    named = parse_file_name(match[1]) if match else None
    if named is None or _ELSEWHERE.match(named.path):
        return None
    folder, _, name = named.path.rpartition("/")
    return named if looks_like_file_path(name) or (folder and _WITH_AN_ENDING.fullmatch(name)) else None


def _lone_name(line: str, language: str) -> NamedFile | None:
    """A file's name alone on a line of code, as such files end."""
    match = _LONE.fullmatch(line) if len(line) <= LONGEST_FILE_LINE else None
    named = parse_file_name(match[1]) if match else None
    return named if named and named.path.rpartition(".")[2] in _ENDINGS.get(language, ()) else None


def unquoted_prose_lines(prose: Sequence[str]) -> Iterator[str]:
    """The lines of prose that say something, without what is quoted from elsewhere."""
    return (line for line in prose if line.strip() and not line.lstrip().startswith(">"))
