"""The few lines of YAML that a settings file needs: names, indentation, plain values. Everything else is refused."""

from __future__ import annotations

import re
from typing import Any

from roundtable.core.faults import ConfigError

_LINE = re.compile(r"(?P<indent> *)(?P<name>[\w.-]+):(?: +(?P<value>.+))?$")
_WORDS = {"true": True, "false": False, "null": None, "~": None}


def read_yaml(text: str, where: str) -> dict[str, Any]:
    """Nested mappings of plain values; what is more than that is named by its line."""
    root: dict[str, Any] = {}
    open_blocks: list[tuple[int, dict[str, Any]]] = [(-1, root)]
    for number, raw in enumerate(text.splitlines(), 1):
        line = _without_comment(raw)
        if not line or line == "---":
            continue
        found = _LINE.match(line)
        if found is None:
            raise _refused(where, number, "only `name: value` with spaces before it is understood here")
        indent = len(found["indent"])
        while indent <= open_blocks[-1][0]:
            open_blocks.pop()
        block = open_blocks[-1][1]
        if found["value"] is None:
            block[found["name"]] = inside = dict[str, Any]()
            open_blocks.append((indent, inside))
        else:
            block[found["name"]] = _value(found["value"], where, number)
    return root


def _without_comment(line: str) -> str:
    """The line up to its comment; a # within quotes, or within a word, begins none."""
    for place in (found.start() for found in re.finditer(r"(?:^|\s)#", line)):
        if line[:place].count('"') % 2 == 0 and line[:place].count("'") % 2 == 0:
            return line[:place].rstrip()
    return line.rstrip()


def _value(text: str, where: str, number: int) -> bool | int | float | str | None:
    if text[0] in "\"'" and len(text) > 1 and text[-1] == text[0] and "\\" not in text:
        return text[1:-1]
    if text[0] in "\"'[{&*!|>%@`-" and not re.fullmatch(r"-?\d[\d.]*", text):
        raise _refused(where, number, "lists, blocks, references and escapes are not understood here")
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if re.fullmatch(r"-?\d+(\.\d+)?", text):
        return float(text) if "." in text else int(text)
    return text


def _refused(where: str, number: int, why: str) -> ConfigError:
    return ConfigError(f"{where}, line {number}: {why}.", "Write that setting on one line, or leave it out.")
