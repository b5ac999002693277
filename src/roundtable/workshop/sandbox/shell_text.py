"""Tells from the text of a shell command whether it runs what it has just fetched."""

from __future__ import annotations

import re

_FETCHES = r"(?:curl|wget|aria2c|lwp-request|lwp-download|httpie|https?|fetch|ncat|nc|ftp|base64|xxd|uudecode|openssl)"
_SHELL = (
    r"(?:(?:ba|da|z|k|a|c|tc|fi)?sh|python[\d.]*|pypy\d*|perl|ruby|node|deno|bun|php\d*|lua[\d.]*|pwsh|powershell|iex"
    r"|source|eval|\.)"
)
_BEFORE = (
    r"(?:(?:sudo|env|exec|command|nohup|nice|xargs|busybox|doas|time|setsid|chronic|stdbuf|timeout)\b(?:\s+-\S+|\s+\d+\w?)*\s+"
    r"|\w+=\S*\s+|[({]\s*|(?:if|then|do|!)\s+)*"
)
_END = r"(?=[\s;&|)}<>]|$)"
_PIPED = re.compile(rf"(?<![\w./-])(?:\S*/)?{_FETCHES}\s.*?\|&?\s*{_BEFORE}(?:\S*/)?{_SHELL}{_END}", re.IGNORECASE)
_PIPED_UNKNOWN = re.compile(rf"\|&?\s*{_BEFORE}[$`]")
_SUBSTITUTED = re.compile(rf"(?:\$\(|`|<\()[^)`]*(?<![\w./-])(?:\S*/)?{_FETCHES}\s", re.IGNORECASE)
_RUNS = re.compile(rf"(?:^|[;&|(\s])(?:\S*/)?{_SHELL}{_END}", re.IGNORECASE)
_IN_A_LANGUAGE = re.compile(
    r"(?=.*(?:urlopen|urlretrieve|requests\.get|open-uri|invoke-webrequest|\biwr\b|\birm\b|https?\.get|lwp::simple))"
    r"(?=.*(?:\bexec\b|\beval\b|\biex\b|os\.system|subprocess|child_process|compile\())",
    re.IGNORECASE,
)
_NAMED = re.compile(r"(?:-o|-O|--output|--output-document|>)[\s=]*([^\s;&|>-]\S*)")
_ADDRESS = re.compile(r"\b(?:https?|ftp)://[^\s;&|]+?/([\w.%+-]+)(?:[?#]\S*)?(?=[\s;&|]|$)", re.IGNORECASE)
_FETCHING = re.compile(rf"(?<![\w.-]){_FETCHES}\s", re.IGNORECASE)


def runs_what_it_fetched(text: str, fetched: set[str]) -> bool:
    """Whether it does, by a pipe, a substitution or by way of a file; `fetched` is added to, for the commands after."""
    plain = _plain(text)
    for line in plain.splitlines():
        if _PIPED.search(line) or _PIPED_UNKNOWN.search(line) or _IN_A_LANGUAGE.search(line):
            return True
        if _SUBSTITUTED.search(line) and _RUNS.search(line):
            return True
    for part in re.split(r"&&|\|\||;|\n", plain):
        if any(_is_run(part, name) for name in fetched):
            return True
        if _FETCHING.search(part):
            fetched |= {it.rpartition("/")[2] for it in (*_NAMED.findall(part), *_ADDRESS.findall(part))} - {"", "null"}
    return False


def _plain(text: str) -> str:
    """Without what only hides words from a reader: quotes, escapes and the shell's own blanks; an open pipe goes on."""
    text = re.sub(r"\$\{?IFS\}?", " ", text)
    text = re.sub(r"['\"\\]", "", text)
    return re.sub(r"\|\s*\n\s*", "| ", text)


def _is_run(part: str, name: str) -> bool:
    named = rf"(?:\S*/)?{re.escape(name)}{_END}"
    by_shell = rf"^\s*{_BEFORE}(?:\S*/)?{_SHELL}\s+(?:-\S+\s+)*{named}"
    itself = rf"^\s*{_BEFORE}(?:\S*/){re.escape(name)}{_END}|\bchmod\s+\S+\s+{named}|<\s*{named}"
    return bool(re.search(f"{by_shell}|{itself}", part, re.IGNORECASE))
