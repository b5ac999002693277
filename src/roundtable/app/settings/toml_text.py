"""Writes TOML: values in one line, and one setting changed in a text that keeps its comments."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from roundtable.core.faults import ConfigError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SECTION_HEADER = re.compile(r"\s*\[([^\[\]]+)\]\s*(#.*)?$")

SettingPath = tuple[str, ...]


def format_setting_value_as_toml(value: Any) -> str:
    """Return a value as TOML in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inside = ", ".join(
            f"{format_setting_name_as_toml(name)} = {format_setting_value_as_toml(item)}"
            for name, item in cast("Mapping[str, Any]", value).items()
        )
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(format_setting_value_as_toml(item) for item in cast('Sequence[Any]', value))}]"
    return str(value)


def format_setting_name_as_toml(name: str) -> str:
    """Return a key, quoted if necessary."""
    return name if _BARE_KEY.fullmatch(name) else format_setting_value_as_toml(name)


def format_setting_path(path: SettingPath) -> str:
    """Return the name of a setting, such as `seats.claude.voices`."""
    return ".".join(format_setting_name_as_toml(name) for name in path)


class _SettingLine(msgspec.Struct):
    """A setting in the text: its lines, path and value."""

    first: int
    last: int
    path: SettingPath
    value: Any


def set_setting_in_config_text(text: str, path: SettingPath, value: Any, where: str) -> str:
    """Return the text with one setting changed or added; everything else is kept."""
    lines = text.splitlines()
    expected = set_nested_setting(tomllib.loads(text), path, value)
    existing = next((line for line in _find_setting_lines(lines) if line.path == path[: len(line.path)]), None)
    if existing is not None:
        inside = path[len(existing.path) :]
        new = set_nested_setting(existing.value, inside, value) if inside else value
        lines[existing.first : existing.last] = [_render_changed_setting(lines[existing.first : existing.last], new)]
    else:
        _add_setting(lines, path, value)
    changed = "\n".join(lines) + "\n"
    try:
        if tomllib.loads(changed) == expected:
            return changed
    except tomllib.TOMLDecodeError:
        pass
    raise ConfigError(
        f"{format_setting_path(path)} cannot be changed without changing other parts of the file.",
        f"Edit the file: {where}",
    )


def set_nested_setting(values: Any, path: SettingPath, value: Any) -> dict[str, Any]:
    """Return the values with one of them changed."""
    first, *rest = path
    old = cast("dict[str, Any]", values) if isinstance(values, dict) else {}
    return {**old, first: set_nested_setting(old.get(first), tuple(rest), value) if rest else value}


def _find_setting_lines(lines: Sequence[str]) -> Iterator[_SettingLine]:
    """Yield every `key = value` with its section; a value may span several lines."""
    section: SettingPath = ()
    at = 0
    while at < len(lines):
        if header := _SECTION_HEADER.match(lines[at]):
            section = parse_setting_path(header[1])
        elif lines[at].strip() and not lines[at].lstrip().startswith(("#", "[")):
            for end in range(at + 1, len(lines) + 1):
                values = _parse_or_none("\n".join(lines[at:end]))
                if values is not None:
                    own = parse_setting_path(lines[at].partition("=")[0])
                    yield _SettingLine(at, end, (*section, *own), _get_nested_value(values, own))
                    at = end - 1
                    break
        at += 1


def _parse_or_none(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def parse_setting_path(name: str) -> SettingPath:
    """Return the parts of a setting's name such as `a."b c"`; empty if it is invalid."""
    values: Any = _parse_or_none(f"{name} = 0")
    path: SettingPath = ()
    while isinstance(values, dict):
        inside = cast("dict[str, Any]", values)
        if len(inside) != 1:
            return ()
        ((first, values),) = inside.items()
        path = (*path, first)
    return path


def _get_nested_value(values: Any, path: SettingPath) -> Any:
    for name in path:
        values = values.get(name, {})
    return values


def _render_changed_setting(lines: Sequence[str], value: Any) -> str:
    """Return the setting with another value, keeping its comment."""
    name = lines[0].partition("=")[0].rstrip()
    return f"{name} = {format_setting_value_as_toml(value)}{_find_comment(lines[-1])}"


def _find_comment(line: str) -> str:
    """Return the comment at the end of a line with the space before it; a # within quotes starts none."""
    for place in (found.start() for found in re.finditer(r"\s*#", line)):
        before = line[:place].partition("=")[2] or line[:place]
        if before.count('"') % 2 == 0 and before.count("'") % 2 == 0:
            return line[place:]
    return ""


def _add_setting(lines: list[str], path: SettingPath, value: Any) -> None:
    """Add a setting at the end of its section, or with a new section."""
    *section, name = path
    setting = f"{format_setting_name_as_toml(name)} = {format_setting_value_as_toml(value)}"
    headers = {
        at: parse_setting_path(found[1]) for at, line in enumerate(lines) if (found := _SECTION_HEADER.match(line))
    }
    start = next((at for at, item in headers.items() if item == tuple(section)), None)
    if section and start is None:
        lines += [*([""] if lines else []), f"[{format_setting_path(tuple(section))}]", setting]
        return
    begin = 0 if start is None else start + 1
    end = next((at for at, line in enumerate(lines) if at >= begin and line.lstrip().startswith("[")), len(lines))
    while end > begin and not lines[end - 1].strip():
        end -= 1
    lines.insert(end, setting)
