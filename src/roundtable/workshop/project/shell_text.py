"""Decides from the text of shell commands whether they run a download or hide which program they run."""

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
_LAUNCHERS = (
    r"(?:(?:[\w./]*/)?(?:sudo|env|exec|command|nohup|nice|xargs|busybox|doas|time|setsid|chronic|stdbuf|timeout)\b"
    rf"(?:\s+{_TAKES_A_WORD}\s*[^\s;&|]+|\s+(?!{_TAKES_A_WORD})-\S+|\s+\d+[a-z]?(?!\w))*\s+"
    r"|\w+=\S*\s+|[({]\s*|(?:if|then|do|!)\s+)*"
    r"(?:(?:[\w./]*/)?(?:su|runuser|gosu|su-exec)\s+(?:[^\s;&|]+\s+)*?)?"
)
"""Words that may precede a program and only start it. A word must match one alternative only: otherwise matching takes
exponential time."""
_WORD_END = r"(?=[\s;&|)}<>]|$)"
_PIPE_TO_SHELL = re.compile(rf"\|&?\s*{_LAUNCHERS}(?:\S*/)?{_SHELL}{_WORD_END}", re.IGNORECASE)
_PIPE_TO_UNKNOWN = re.compile(rf"\|&?\s*{_LAUNCHERS}[$`]")
_SUBSTITUTION = re.compile(r"\$\(|`|<\(")
_RUNS = re.compile(rf"(?:^|[;&|(\s])(?:\S*/)?{_SHELL}{_WORD_END}", re.IGNORECASE)
_FETCHES_IN_CODE = re.compile(
    r"urlopen|urlretrieve|requests\.get|open-uri|invoke-webrequest|\biwr\b|\birm\b|https?\.get|lwp::simple",
    re.IGNORECASE,
)
_RUNS_IN_CODE = re.compile(r"\bexec\b|\beval\b|\biex\b|os\.system|subprocess|child_process|compile\(", re.IGNORECASE)
_OUTPUT_FILE = re.compile(r"(?:(?<!\S)-\w*[oO]|--output|--output-document|>)[\s=]*([^\s;&|>-]\S*)")
_ADDRESS = re.compile(r"\b(?:https?|ftp)://[^\s;&|]+?/([\w.%+-]+)(?:[?#]\S*)?(?=[\s;&|]|$)", re.IGNORECASE)
_FETCHING = re.compile(rf"(?<![\w.-]){_FETCHES}\s|/dev/(?:tcp|udp)/", re.IGNORECASE)
_VARIABLE_USE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_VARIABLE_SET_OR_USE = re.compile(rf"(?<![\w$-])([A-Za-z_]\w*)=([^\s;&|()]*)|{_VARIABLE_USE.pattern}")
_NEW_COMMAND = re.compile(r"[;&|(]+|then|do|else|if|elif|while|until|!|\{")
_LAUNCHER_WORD = re.compile(r"\w+=.*|-\S+|\d+\w?|sudo|env|exec|command|nohup|nice|xargs|busybox|doas|time|timeout|eval")
_SHELL_NAME = re.compile(r"(?:\S*/)?(?:ba|da|z|k|a)?sh")
_SCRIPT_OPTION = re.compile(r"-\w*c")
_UNKNOWN_PROGRAM = re.compile(r"[$`](?![@*]|\w+/|\{\w+\}/)")


_MAX_COMMAND, _MAX_VALUE = 20_000, 500
"""Maximum length of a command and of a variable's value; longer ones are refused."""


class ShellScanner:
    """Reads commands in order, and remembers downloaded files and the values of variables."""

    def __init__(self) -> None:
        self._downloads: set[str] = set()
        self._values: dict[str, str] = {}

    def set_variables(self, values: Mapping[str, str]) -> None:
        """Set variables for the commands that follow."""
        self._values |= values

    def note_written_file(self, names: Iterable[str], text: str) -> None:
        """Note that files of these names are written; they count as downloads if the text runs one."""
        if text and self.is_dangerous(text):
            self._downloads |= {name.rpartition("/")[2] for name in names} - {""}

    def is_dangerous(self, text: str) -> bool:
        """Whether a command runs a download (by pipe, substitution or file), or a program whose name cannot be
        known."""
        if len(text) > _MAX_COMMAND:
            return True
        expanded = self._expand_variables(re.sub(r"\$\{?IFS\}?", " ", text))
        return len(expanded) > _MAX_COMMAND or _hides_program(expanded) or self._runs_download(_unquote(expanded))

    def _expand_variables(self, text: str) -> str:
        """Return a text with the variables expanded that the file itself sets, in order."""

        def expand(match: re.Match[str]) -> str:
            name, value, *used = match.groups()
            if name is None:
                return self._value(match[0], *used)
            value = _VARIABLE_USE.sub(lambda used: self._value(used[0], *used.groups()), value).strip("\"'")
            self._values[name] = value if len(value) <= _MAX_VALUE else f"${name}"
            return match[0]

        return _VARIABLE_SET_OR_USE.sub(expand, text)

    def _value(self, unknown: str, bare: str | None, braced: str | None) -> str:
        return self._values.get(bare or braced or "", unknown)

    def _runs_download(self, unquoted: str) -> bool:
        for line in unquoted.splitlines():
            if _pipes_download(line) or _PIPE_TO_UNKNOWN.search(line):
                return True
            if _substitutes_download(line) and _RUNS.search(line):
                return True
            if _FETCHES_IN_CODE.search(line) and _RUNS_IN_CODE.search(line):
                return True
        for part in re.split(r"&&|\|\||;|\n", unquoted):
            if any(_is_run(part, name) for name in self._downloads):
                return True
            if _FETCHING.search(part):
                file_name = (*_OUTPUT_FILE.findall(part), *_ADDRESS.findall(part))
                self._downloads |= {name.rpartition("/")[2] for name in file_name} - {"", "null"}
        return False


def _pipes_download(line: str) -> bool:
    fetching = _FETCHING.search(line)
    return fetching is not None and _PIPE_TO_SHELL.search(line, fetching.end()) is not None


def _substitutes_download(line: str) -> bool:
    parts = re.split(r"\)|(?=`)", line)
    opened = ((part, opening.end()) for part in parts if (opening := _SUBSTITUTION.search(part)))
    return any(_FETCHING.search(part, start) for part, start in opened)


def _hides_program(text: str) -> bool:
    """Whether a variable or the output of a command is used as the name of a program."""
    return any(_UNKNOWN_PROGRAM.match(word) for line in text.splitlines() for word in _programs(line))


def _programs(line: str) -> Iterator[str]:
    """Yield the words that a shell would run, including those of a script passed to a shell; a single word hides
    nothing."""
    words = _words(line)
    expects_program, program, previous = len(words) > 1, "", ""
    for word in words:
        if _NEW_COMMAND.fullmatch(word):
            expects_program = True
        elif previous == "eval" or (_SHELL_NAME.fullmatch(program) and _SCRIPT_OPTION.fullmatch(previous)):
            yield from _programs(f": ; {word}")
        elif expects_program and not _LAUNCHER_WORD.fullmatch(word):
            yield word
            expects_program, program = False, word
        previous = word


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:  # a quotation mark that is closed on another line
        return line.split()


def _unquote(text: str) -> str:
    """Remove quotes and escapes, which only hide words; join a pipe that goes on in the next line."""
    text = re.sub(r"['\"\\]", "", text)
    return re.sub(r"\|\s*\n\s*", "| ", text)


def _is_run(part: str, name: str) -> bool:
    file_name = rf"(?:\S*/)?{re.escape(name)}{_WORD_END}"
    by_shell = rf"^\s*{_LAUNCHERS}(?:\S*/)?{_SHELL}\s+(?:-\S+\s+)*{file_name}"
    itself = rf"^\s*{_LAUNCHERS}(?:\S*/){re.escape(name)}{_WORD_END}|\bchmod\s+\S+\s+{file_name}|<\s*{file_name}"
    return bool(re.search(f"{by_shell}|{itself}", part, re.IGNORECASE))
