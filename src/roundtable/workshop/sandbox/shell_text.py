"""Tells from the text of shell commands whether they run what they have just fetched, or hide what they run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping

_FETCHES = r"(?:curl|wget|aria2c|lwp-request|lwp-download|httpie|https?|fetch|ncat|nc|ftp|base64|xxd|uudecode|openssl)"
_SHELL = (
    r"(?:(?:ba|da|z|k|a|c|tc|fi)?sh|python[\d.]*|pypy\d*|perl|ruby|node|deno|bun|php\d*|lua[\d.]*|pwsh|powershell|iex"
    r"|source|eval|\.)"
)
_TAKES_A_WORD = r"(?:-\w*[ugUTCDRIado]|--(?:user|group|chdir|unset))\s"
_BEFORE = (
    r"(?:(?:[\w./]*/)?(?:sudo|env|exec|command|nohup|nice|xargs|busybox|doas|time|setsid|chronic|stdbuf|timeout)\b"
    rf"(?:\s+{_TAKES_A_WORD}\s*[^\s;&|]+|\s+(?!{_TAKES_A_WORD})-\S+|\s+\d+[a-z]?(?!\w))*\s+"
    r"|\w+=\S*\s+|[({]\s*|(?:if|then|do|!)\s+)*"
    r"(?:(?:[\w./]*/)?(?:su|runuser|gosu|su-exec)\s+(?:[^\s;&|]+\s+)*?)?"
)
"""What stands before a program and only runs it. A word must not fit two of these ways: reading would take for ever."""
_END = r"(?=[\s;&|)}<>]|$)"
_TO_A_SHELL = re.compile(rf"\|&?\s*{_BEFORE}(?:\S*/)?{_SHELL}{_END}", re.IGNORECASE)
_TO_UNKNOWN = re.compile(rf"\|&?\s*{_BEFORE}[$`]")
_SUBSTITUTION = re.compile(r"\$\(|`|<\(")
_RUNS = re.compile(rf"(?:^|[;&|(\s])(?:\S*/)?{_SHELL}{_END}", re.IGNORECASE)
_FETCHES_IN_CODE = re.compile(
    r"urlopen|urlretrieve|requests\.get|open-uri|invoke-webrequest|\biwr\b|\birm\b|https?\.get|lwp::simple",
    re.IGNORECASE,
)
_RUNS_IN_CODE = re.compile(r"\bexec\b|\beval\b|\biex\b|os\.system|subprocess|child_process|compile\(", re.IGNORECASE)
_NAMED = re.compile(r"(?:(?<!\S)-\w*[oO]|--output|--output-document|>)[\s=]*([^\s;&|>-]\S*)")
_ADDRESS = re.compile(r"\b(?:https?|ftp)://[^\s;&|]+?/([\w.%+-]+)(?:[?#]\S*)?(?=[\s;&|]|$)", re.IGNORECASE)
_FETCHING = re.compile(rf"(?<![\w.-]){_FETCHES}\s|/dev/(?:tcp|udp)/", re.IGNORECASE)
_USED = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_SET_OR_USED = re.compile(rf"(?<![\w$-])([A-Za-z_]\w*)=([^\s;&|()]*)|{_USED.pattern}")
_NEW_COMMAND = re.compile(r"[;&|(]+|then|do|else|if|elif|while|until|!|\{")
_STILL_BEFORE = re.compile(r"\w+=.*|-\S+|\d+\w?|sudo|env|exec|command|nohup|nice|xargs|busybox|doas|time|timeout|eval")
_SHELL_ALONE = re.compile(r"(?:\S*/)?(?:ba|da|z|k|a)?sh")
_TEXT_FOLLOWS = re.compile(r"-\w*c")
_UNKNOWN = re.compile(r"[$`](?![@*]|\w+/|\{\w+\}/)")


_LONGEST, _LONGEST_VALUE = 20_000, 500
"""Letters of a command, and of what a variable stands for. Nobody writes more who wants to be read."""


class ShellScanner:
    """Reads commands one after the other, and remembers which files were fetched and what variables stand for."""

    def __init__(self) -> None:
        self._fetched: set[str] = set()
        self._values: dict[str, str] = {}

    def sets(self, values: Mapping[str, str]) -> None:
        """What variables stand for in the commands that follow."""
        self._values |= values

    def writes(self, names: Iterable[str], text: str) -> None:
        """A file of one of these names with this text: whoever runs it runs what it fetches."""
        if text and self.refuses(text):
            self._fetched |= {it.rpartition("/")[2] for it in names} - {""}

    def refuses(self, text: str) -> bool:
        """Whether it runs what was fetched, by a pipe, a substitution or a file, or a program that nobody can name."""
        if len(text) > _LONGEST:
            return True
        told = self._told(re.sub(r"\$\{?IFS\}?", " ", text))
        return len(told) > _LONGEST or _hides_its_program(told) or self._runs_what_it_fetched(_plain(told))

    def _told(self, text: str) -> str:
        """With the variables written out that the file itself sets, in its order."""

        def written_out(found: re.Match[str]) -> str:
            name, value, *used = found.groups()
            if name is None:
                return self._value(found[0], *used)
            value = _USED.sub(lambda it: self._value(it[0], *it.groups()), value).strip("\"'")
            self._values[name] = value if len(value) <= _LONGEST_VALUE else f"${name}"
            return found[0]

        return _SET_OR_USED.sub(written_out, text)

    def _value(self, unknown: str, bare: str | None, braced: str | None) -> str:
        return self._values.get(bare or braced or "", unknown)

    def _runs_what_it_fetched(self, plain: str) -> bool:
        for line in plain.splitlines():
            if _pipes_what_it_fetches(line) or _TO_UNKNOWN.search(line):
                return True
            if _puts_in_what_it_fetches(line) and _RUNS.search(line):
                return True
            if _FETCHES_IN_CODE.search(line) and _RUNS_IN_CODE.search(line):
                return True
        for part in re.split(r"&&|\|\||;|\n", plain):
            if any(_is_run(part, name) for name in self._fetched):
                return True
            if _FETCHING.search(part):
                named = (*_NAMED.findall(part), *_ADDRESS.findall(part))
                self._fetched |= {it.rpartition("/")[2] for it in named} - {"", "null"}
        return False


def _pipes_what_it_fetches(line: str) -> bool:
    fetching = _FETCHING.search(line)
    return fetching is not None and _TO_A_SHELL.search(line, fetching.end()) is not None


def _puts_in_what_it_fetches(line: str) -> bool:
    parts = re.split(r"\)|(?=`)", line)
    opened = ((part, opening.end()) for part in parts if (opening := _SUBSTITUTION.search(part)))
    return any(_FETCHING.search(part, start) for part, start in opened)


def _hides_its_program(text: str) -> bool:
    """Whether a variable, or what another command prints, stands where the name of a program should."""
    return any(_UNKNOWN.match(word) for line in text.splitlines() for word in _programs(line))


def _programs(line: str) -> Iterator[str]:
    """The words that a shell would run, those of a text that is given to one included; a word alone hides nothing."""
    words = _words(line)
    first, program, before = len(words) > 1, "", ""
    for word in words:
        if _NEW_COMMAND.fullmatch(word):
            first = True
        elif before == "eval" or (_SHELL_ALONE.fullmatch(program) and _TEXT_FOLLOWS.fullmatch(before)):
            yield from _programs(f": ; {word}")
        elif first and not _STILL_BEFORE.fullmatch(word):
            yield word
            first, program = False, word
        before = word


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:  # a quotation mark that is closed on another line
        return line.split()


def _plain(text: str) -> str:
    """Without what only hides words from a reader, quotes and escapes; an open pipe goes on."""
    text = re.sub(r"['\"\\]", "", text)
    return re.sub(r"\|\s*\n\s*", "| ", text)


def _is_run(part: str, name: str) -> bool:
    named = rf"(?:\S*/)?{re.escape(name)}{_END}"
    by_shell = rf"^\s*{_BEFORE}(?:\S*/)?{_SHELL}\s+(?:-\S+\s+)*{named}"
    itself = rf"^\s*{_BEFORE}(?:\S*/){re.escape(name)}{_END}|\bchmod\s+\S+\s+{named}|<\s*{named}"
    return bool(re.search(f"{by_shell}|{itself}", part, re.IGNORECASE))
