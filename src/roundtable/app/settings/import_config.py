"""Imports settings of other tools: a TheRoundtAIble config.json, or a config.yaml with models.

Settings without an equivalent are listed as notes. Keys and permissions are never imported. The YAML reader supports
only nested names with plain values and rejects everything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from roundtable.app.settings.config_files import read_user_config_file
from roundtable.core.faults import ConfigError
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.strict_toml import decode_utf8_text, parse_json_with_depth_limit
from roundtable.voices.agents.catalog import load_shipped_agent_clis
from roundtable.voices.endpoints import load_shipped_voice_endpoints

_LINE = re.compile(r"(?P<indent> *)(?P<name>[\w.-]+):(?: +(?P<value>.+))?$")
_YAML_WORDS = {"true": True, "false": False, "null": None, "~": None}


def _parse_simple_yaml(text: str, where: str) -> dict[str, Any]:
    """Parse nested mappings of plain values; an error names the line of anything else."""
    root: dict[str, Any] = {}
    open_blocks: list[tuple[int, dict[str, Any]]] = [(-1, root)]
    for number, raw in enumerate(text.splitlines(), 1):
        line = _strip_comment(raw)
        if not line or line == "---":
            continue
        match = _LINE.match(line)
        if match is None:
            raise _yaml_error(where, number, "only indented lines of `name: value` are supported")
        indent = len(match["indent"])
        while indent <= open_blocks[-1][0]:
            open_blocks.pop()
        block = open_blocks[-1][1]
        if match["value"] is None:
            block[match["name"]] = inside = dict[str, Any]()
            open_blocks.append((indent, inside))
        else:
            block[match["name"]] = _parse_yaml_value(match["value"], where, number)
    return root


def _strip_comment(line: str) -> str:
    """Return the line without its comment; a # within quotes or a word starts no comment."""
    for place in (found.start() for found in re.finditer(r"(?:^|\s)#", line)):
        if line[:place].count('"') % 2 == 0 and line[:place].count("'") % 2 == 0:
            return line[:place].rstrip()
    return line.rstrip()


def _parse_yaml_value(text: str, where: str, number: int) -> bool | int | float | str | None:
    if text[0] in "\"'" and len(text) > 1 and text[-1] == text[0] and "\\" not in text:
        return text[1:-1]
    if text[0] in "\"'[{&*!|>%@`-" and not re.fullmatch(r"-?\d[\d.]*", text):
        raise _yaml_error(where, number, "lists, blocks, references and escapes are not supported")
    if text.lower() in _YAML_WORDS:
        return _YAML_WORDS[text.lower()]
    if re.fullmatch(r"-?\d+(\.\d+)?", text):
        return float(text) if "." in text else int(text)
    return text


def _yaml_error(where: str, number: int, why: str) -> ConfigError:
    return ConfigError(f"{where}, line {number}: {why}.", "Write that setting on one line, or remove it.")


_VOICES_BY_ADAPTER = {
    "claude-cli": "cli:claude",
    "gemini-cli": "cli:gemini",
    "openai-cli": "cli:codex",
    "claude-api": "anthropic",
    "gemini-api": "google",
    "openai-api": "openai",
}
_ENDPOINTS_BY_MODEL = {"claude": "anthropic", "gemini": "google", "gpt": "openai", "grok": "xai"}
_VARIABLE = re.compile(r"\$\{(\w+)\}")

T = TypeVar("T", bound=msgspec.Struct)


class ImportedConfig(msgspec.Struct, frozen=True):
    """The converted settings of a file, and notes for the person."""

    settings: dict[str, Any]
    notes: tuple[str, ...]


def import_foreign_config(path: Path) -> ImportedConfig:
    """Import the config of another tool, recognized by its content."""
    data = read_user_config_file(path)
    if data is None:
        raise ConfigError(
            f"{path} cannot be read: there is no such file.", "Give the path of a config.json or a config.yaml."
        )
    text = decode_utf8_text(data, str(path))
    if path.suffix == ".json" or text.lstrip().startswith("{"):
        return _convert_knights(_read_struct(_Knights, _parse_json(text, path), path))
    return _convert_models(_read_struct(_Models, _parse_simple_yaml(text, str(path)), path))


def find_theroundtaible_config(workspace: Path) -> Path | None:
    """Return the path of the workspace's TheRoundtAIble config, or None."""
    path = workspace / ".roundtable" / "config.json"
    return path if path.is_file() and not path.is_symlink() else None


# --- TheRoundtAIble ------------------------------------------------------------------------------


class _Knight(msgspec.Struct, frozen=True):
    name: str
    adapter: str
    capabilities: tuple[str, ...] = ()
    priority: int = 0
    fallback: str = ""


class _Rules(msgspec.Struct, frozen=True):
    max_rounds: int | None = None
    consensus_threshold: float | None = None
    timeout_per_turn_seconds: float | None = None
    escalate_to_user_after: int | None = None
    auto_execute: bool = False
    ignore: tuple[str, ...] = ()


class _Knights(msgspec.Struct, frozen=True):
    version: str
    knights: tuple[_Knight, ...]
    project: str = ""
    language: str = "en"
    rules: _Rules = _Rules()


def _convert_knights(read: tuple[_Knights, list[str]]) -> ImportedConfig:
    theirs, notes = read
    rules = theirs.rules
    if theirs.version != "1.0":
        version = sanitize_line(theirs.version)
        notes.append(f"The file has the unknown version {version}. It was imported as if it had version 1.0.")
    if theirs.project:
        notes.append(
            f"The project's name ({sanitize_line(theirs.project)}) was not imported, because a workspace is named "
            "after its folder."
        )
    if rules.auto_execute:
        notes.append("auto_execute was not imported: nothing is executed without your approval.")
    seats: dict[str, dict[str, Any]] = {}
    for knight in theirs.knights:
        voices = [_convert_adapter(text, knight.name, notes) for text in (knight.adapter, knight.fallback) if text]
        capabilities, priority = list(knight.capabilities), knight.priority
        if chain := [voice for voice in voices if voice]:
            seats[_make_seat_name(knight.name)] = {"voices": chain, "capabilities": capabilities, "priority": priority}
    named = {"rounds": rules.max_rounds, "threshold": rules.consensus_threshold}
    meeting = _drop_unset({**named, "warn_after": rules.escalate_to_user_after})
    settings = {
        "language": theirs.language,
        "table": {"meeting": "knights", "seats": list(seats)},
        "meetings": {"knights": meeting} if meeting else {},
        "limits": _drop_unset({"seat_timeout": rules.timeout_per_turn_seconds}),
        "context": {"ignore": list(rules.ignore)} if rules.ignore else {},
        "seats": seats,
    }
    return ImportedConfig({name: value for name, value in settings.items() if value}, tuple(notes))


def _convert_adapter(adapter: str, knight: str, notes: list[str]) -> str:
    """Return the voice for an adapter's name."""
    voice = _VOICES_BY_ADAPTER.get(adapter, "")
    if not voice:
        notes.append(f"{sanitize_line(knight)}: the adapter {sanitize_line(adapter)} is unknown and was left out.")
    return voice if not voice or ":" in voice else f"{voice}:{load_shipped_voice_endpoints()[voice].default_model}"


def _make_seat_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-").lower() or "knight"


# --- the terminal document -----------------------------------------------------------------------


class _Model(msgspec.Struct, frozen=True):
    enabled: bool = True
    cli_path: str = ""
    api_key: str = ""
    default_model: str = ""


class _Defaults(msgspec.Struct, frozen=True):
    auto_debate: bool = True
    consensus_timeout: float | None = None
    model_timeout: float | None = None


class _Models(msgspec.Struct, frozen=True):
    models: dict[str, _Model]
    defaults: _Defaults = _Defaults()


def _convert_models(read: tuple[_Models, list[str]]) -> ImportedConfig:
    theirs, notes = read
    seats: dict[str, dict[str, Any]] = {}
    endpoints: dict[str, dict[str, Any]] = {}
    for name, model in theirs.models.items():
        voice = _convert_model(name, model, endpoints, notes)
        if voice:
            seats[_make_seat_name(name)] = {"voices": [voice], **({} if model.enabled else {"enabled": False})}
    if not theirs.defaults.auto_debate:
        notes.append("auto_debate is always on; `roundtable pause` and `roundtable say` interrupt a debate.")
    if theirs.defaults.consensus_timeout is not None:
        notes.append("consensus_timeout was not imported: [limits] applies to every round.")
    seated = [name for name, seat in seats.items() if seat.get("enabled", True)]
    settings = {
        "table": {"meeting": "debate", "seats": seated},
        "meetings": {"debate": {"executor": "claude"}} if "claude" in seated else {},
        "limits": _drop_unset({"seat_timeout": theirs.defaults.model_timeout}),
        "seats": seats,
        "endpoints": endpoints,
    }
    return ImportedConfig({name: value for name, value in settings.items() if value}, tuple(notes))


def _convert_model(name: str, model: _Model, endpoints: dict[str, dict[str, Any]], notes: list[str]) -> str:
    if model.cli_path and name in load_shipped_agent_clis():
        if Path(model.cli_path).name != model.cli_path:
            notes.append(
                f"{name}: its path was not imported; set agents.{name}.command if the program is not on your PATH."
            )
        return ":".join(filter(None, ("cli", name, model.default_model)))
    endpoint = _ENDPOINTS_BY_MODEL.get(name)
    if endpoint is None:
        notes.append(f"{sanitize_line(name)}: there is no voice of that name; it was left out.")
        return ""
    known = load_shipped_voice_endpoints()[endpoint]
    variable = _VARIABLE.fullmatch(model.api_key)
    if model.api_key and variable is None:
        notes.append(f"{name}: the file contains a key, which was not imported. Run `roundtable keys set {endpoint}`.")
    elif variable is not None and known.key != f"env:{variable[1]}":
        endpoints[endpoint] = {"key": f"env:{variable[1]}"}
    return f"{endpoint}:{model.default_model or known.default_model}"


# --- shared --------------------------------------------------------------------------------------


def _parse_json(text: str, path: Path) -> object:
    try:
        return parse_json_with_depth_limit(text)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{path} is not valid JSON: {error}.", "Fix the file, then import it again.") from None


def _read_struct(kind: type[T], data: object, path: Path) -> tuple[T, list[str]]:
    """Return the file as a struct, and a note for every unknown field."""
    try:
        return msgspec.convert(data, kind, strict=False), [
            f"{name} is unknown and was not imported." for name in _find_unknown_fields(kind, data)
        ]
    except msgspec.ValidationError as error:
        known = (
            "The file must contain `knights` (config.json of TheRoundtAIble) or `models` (config.yaml of "
            "terminal-document)."
        )
        raise ConfigError(f"{path} cannot be imported: {sanitize_line(str(error))}.", known) from None


def _find_unknown_fields(kind: type[msgspec.Struct], data: object, place: str = "") -> Iterable[str]:
    """Yield the path of each unknown field."""
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    for name, value in cast("Mapping[str, Any]", data).items():
        inside = f"{place}{sanitize_line(name)}"
        if name not in fields:
            yield inside
        for part, within in _list_nested_structs(fields.get(name), value):
            yield from _find_unknown_fields(part, within, f"{inside}.")


def _list_nested_structs(kind: Any, value: Any) -> Iterable[tuple[type[msgspec.Struct], Any]]:
    if kind in (_Rules, _Defaults):
        yield kind, value
    elif kind == tuple[_Knight, ...]:
        yield from ((_Knight, item) for item in value)
    elif kind == dict[str, _Model]:
        yield from ((_Model, item) for item in value.values())


def _drop_unset(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values that are set, with whole numbers as integers."""
    return {name: int(item) if float(item).is_integer() else item for name, item in values.items() if item is not None}
