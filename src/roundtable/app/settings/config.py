"""Settings from config files: the workspace's over the person's over the defaults. Unknown keys are errors.

A config file names keys and never holds one: what looks like a key is rejected, with the command that stores it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import parse_qsl

import msgspec

from roundtable.app.settings.config_files import WORKSPACE_CONFIG, read_user_config_file, read_workspace_config_file
from roundtable.app.settings.places import Places
from roundtable.app.settings.template_files import (
    list_configured_meeting_names,
    read_template_files_needing_trust,
    unknown_configured_meeting_error,
)
from roundtable.app.settings.trust import (
    SettingChange,
    TrustList,
    TrustRequest,
    WorkspaceFiles,
    cap_limits_in_workspace_config,
)
from roundtable.core.faults import ConfigError, UsageError
from roundtable.core.text.redaction import Redactor, is_secret_name_to_redact, looks_like_secret_to_redact
from roundtable.core.text.strict_toml import convert_toml_table_to_struct, decode_utf8_text, parse_toml_with_depth_limit
from roundtable.core.values import LIMIT_MINIMUMS, Limits, Quorum, Right
from roundtable.meetings import Meeting, find_meeting
from roundtable.voices.agents.catalog import merge_agent_cli_catalog
from roundtable.voices.endpoints import override_shipped_voice_endpoint
from roundtable.workshop.sandbox import SandboxSettings

ProgramLine = Annotated[tuple[Annotated[str, msgspec.Meta(min_length=1)], ...], msgspec.Meta(min_length=1)]
"""One line of `[checks]` or `[hooks]`: a program and its arguments, never a shell command."""


class TableSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[table]`: the defaults of a meeting."""

    meeting: str = "council"
    seats: tuple[str, ...] = ()


class SeatSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[seats.NAME]`: the voices, role and rights of a seat."""

    voices: tuple[str, ...] = ()
    judge: str = ""
    role: str = ""
    brief: str = ""
    capabilities: tuple[str, ...] = ()
    priority: int = 0
    color: str = ""
    rights: tuple[Right, ...] = (Right.SPEAK, Right.VOTE, Right.JUDGE)
    enabled: bool = True


class QuorumSettings(Quorum, frozen=True, forbid_unknown_fields=True):
    """`limits.quorum`: the quorum of a meeting, set before the first answer."""


class LimitSettings(Limits, frozen=True, forbid_unknown_fields=True):
    """`[limits]`: limits for every meeting."""

    quorum: QuorumSettings = QuorumSettings()

    def to_limits(self) -> Limits:
        """Return the limits as a value of the record."""
        return msgspec.convert(msgspec.to_builtins(self), Limits)


class ContextSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[context]`: the paths to ignore when files are chosen, and the most tokens of chosen files."""

    ignore: tuple[str, ...] = (".git", "node_modules", "dist")
    tokens: Annotated[int, msgspec.Meta(ge=0)] = 16_000


class WorktreeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[worktrees]`: the branch of a worktree, the ignored files copied into it, and its set-up programs."""

    branch: str = "agents/{agent}/{task}"
    copy: tuple[str, ...] = ()
    setup: tuple[ProgramLine, ...] = ()


class MemorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[memory]`: whether new meetings recall earlier ones, and after how many days a prediction is due."""

    recall: bool = True
    prediction_days: Annotated[int, msgspec.Meta(ge=1, le=36_500)] = 90


class HookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[hooks]`: a program to run at certain moments of a debate."""

    debate_started: ProgramLine | None = None
    consensus_reached: ProgramLine | None = None
    execution_complete: ProgramLine | None = None

    def commands(self) -> dict[str, tuple[str, ...]]:
        """Return the hooks that are set, by name."""
        return {name: argv for name, argv in msgspec.structs.asdict(self).items() if argv}


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that a config file may contain."""

    language: str = "en"
    table: TableSettings = TableSettings()
    meetings: dict[str, dict[str, Any]] = {}
    limits: LimitSettings = LimitSettings()
    seats: dict[str, SeatSettings] = {}
    endpoints: dict[str, dict[str, Any]] = {}
    agents: dict[str, dict[str, Any]] = {}
    context: ContextSettings = ContextSettings()
    checks: dict[str, ProgramLine] = {}
    sandbox: SandboxSettings = SandboxSettings()
    hooks: HookSettings = HookSettings()
    worktrees: WorktreeSettings = WorktreeSettings()
    memory: MemorySettings = MemorySettings()


class Settings(msgspec.Struct, frozen=True):
    """The config in force, the settings and files withheld because the workspace is not trusted, and the limits that
    no file of the workspace may exceed. `capped` lists the limits that its config wanted to exceed."""

    config: Config
    withheld: tuple[str, ...] = ()
    limit_caps: dict[str, Any] = {}
    capped: tuple[SettingChange, ...] = ()


class ConfigLayers(msgspec.Struct, frozen=True):
    """The person's config, the part of the workspace's config that is in force, and what was withheld and capped."""

    person: dict[str, Any]
    workspace: dict[str, Any]
    withheld: tuple[str, ...] = ()
    limit_caps: dict[str, Any] = {}
    capped: tuple[SettingChange, ...] = ()


def load_settings(places: Places, workspace: Path) -> Settings:
    """Load the person's config with the workspace's config on top."""
    layers = read_config_layers(places, workspace)
    path = workspace_config_path(workspace)
    config = parse_config(_merge_tables(layers.person, layers.workspace), path)
    check_configured_default_meeting(
        places, workspace, config, path if "meeting" in layers.workspace.get("table", {}) else places.user_config
    )
    return Settings(config, layers.withheld, layers.limit_caps, layers.capped)


def check_configured_default_meeting(places: Places, workspace: Path, config: Config, path: Path) -> None:
    """Raise an error if the config names an unknown default meeting."""
    known = list_configured_meeting_names(places, workspace)
    if config.table.meeting not in known:
        wrong = unknown_configured_meeting_error(config.table.meeting, known)
        raise ConfigError(f"{path}: {wrong.message}", wrong.help)


def read_config_layers(places: Places, workspace: Path) -> ConfigLayers:
    """Return the person's config, and the workspace's config as far as the person permits it."""
    data = read_user_config_file(places.user_config)
    person = {} if data is None else _parse_config_file(data, places.user_config)
    files = read_workspace_config_and_templates(workspace)
    trust = TrustList(places).find_request(workspace, files)
    caps: dict[str, Any] = {} if trust.may_exceed_limits else person.get("limits", {})
    if not trust.is_trusted:
        ignored = person.get("context", {}).get("ignore", ContextSettings().ignore)
        return ConfigLayers(person, files.allowed_config(ignored), trust.withheld, caps)
    limits, capped = cap_limits_in_workspace_config(caps, files.config.get("limits", {}))
    own = {**files.config, "limits": limits} if limits else files.config
    return ConfigLayers(person, own, (), caps, capped)


def workspace_config_path(workspace: Path) -> Path:
    """Return the path of a workspace's config."""
    return workspace / WORKSPACE_CONFIG


def parse_config(values: dict[str, Any], path: Path) -> Config:
    """Parse the config of one file; raise an error for invalid settings and for written-down keys.

    The error lists the first mistake of every section. If a section holds a key, only that mistake is listed, because
    other messages could quote the key.
    """
    keys = {name: [*_find_keys_in_config({name: value}, str(path))] for name, value in values.items()}
    others = {name: value for name, value in values.items() if not keys[name]}
    errors = [*chain.from_iterable(keys.values()), *_find_mistakes(others, f"{path}: ")]
    if len(errors) > 1:
        mistakes = "\n".join(f"{error.message} {error.help}" for error in errors)
        raise ConfigError(mistakes, "`roundtable doctor` checks the file again.")
    if errors:
        raise errors[0]
    return msgspec.convert(values, Config)


def trust_workspace(
    places: Places, workspace: Path, request: TrustRequest | None = None, *, may_exceed_limits: bool | None = None
) -> None:
    """Trust the files of a request, which the person has seen; without one, those that are there now."""
    request = request or find_trust_request(places, workspace)
    exceed = request.may_exceed_limits if may_exceed_limits is None else may_exceed_limits
    TrustList(places).add(workspace, request, may_exceed_limits=exceed)


def find_trust_request(places: Places, workspace: Path) -> TrustRequest:
    """Return what trust in the current files of a workspace permits, and whether the person gave it."""
    return TrustList(places).find_request(workspace, read_workspace_config_and_templates(workspace))


def is_workspace_trusted(places: Places, workspace: Path) -> bool:
    """Return whether the person trusted exactly the current files of a workspace."""
    return find_trust_request(places, workspace).is_trusted


def read_workspace_config_and_templates(workspace: Path) -> WorkspaceFiles:
    """Read the config of a workspace and the files that need trust."""
    data = read_workspace_config_file(workspace, WORKSPACE_CONFIG)
    config = {} if data is None else _parse_config_file(data, workspace_config_path(workspace))
    return WorkspaceFiles(config, data, read_template_files_needing_trust(workspace))


def read_config_text(path: Path, workspace: Path | None) -> str:
    """Return the text of a config that will be changed: that of a workspace, or without one the person's."""
    data = read_user_config_file(path) if workspace is None else read_workspace_config_file(workspace, WORKSPACE_CONFIG)
    return decode_utf8_text(data or b"", str(path))


def _parse_config_file(data: bytes, path: Path) -> dict[str, Any]:
    try:
        values = parse_toml_with_depth_limit(decode_utf8_text(data, str(path)))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.", "Fix that line and try again.") from error
    parse_config(values, path)
    return values


def _find_mistakes(values: dict[str, Any], path: str) -> Iterator[ConfigError]:
    tables: dict[str, dict[str, Any]] = {name: value for name, value in values.items() if isinstance(value, dict)}
    outline: dict[str, Any] = {**values, **{name: {} for name in tables}}
    for read in (
        partial(convert_toml_table_to_struct, Config, outline, path.rstrip(": ")),
        *_section_readers(tables, path),
    ):
        try:
            read()
        except ConfigError as error:
            yield error


def _section_readers(tables: dict[str, dict[str, Any]], path: str) -> Iterator[Callable[[], object]]:
    """Yield a check of each section, so that a mistake can be reported with the section's name."""
    kinds = {field.name: field.type for field in msgspec.structs.fields(Config) if field.type is not str}
    for section, data in tables.items():
        if section == "seats":
            for name, own in data.items():
                yield partial(convert_toml_table_to_struct, SeatSettings, own, f"{path}seats.{name}")
        elif section in ("meetings", "endpoints", "agents", "checks"):
            for name, own in data.items():
                yield partial(_check_named_section, section, name, own, path)
        elif section == "limits":
            yield partial(_check_limits_section, data, path)
        elif section in kinds:
            yield partial(convert_toml_table_to_struct, kinds[section], data, f"{path}{section}")


def _check_named_section(kind: str, name: str, data: object, path: str) -> None:
    if kind == "checks":
        if not isinstance(data, list):
            example = f'Write it as a list of words, such as {name} = ["pytest", "-q"].'
            raise ConfigError(f"{path}checks: {name} must be a list.", example)
        convert_toml_table_to_struct(
            cast("type[tuple[str, ...]]", ProgramLine), cast("list[object]", data), f"{path}checks.{name}"
        )
        return
    values = convert_toml_table_to_struct(dict[str, Any], data, f"{path}{kind}.{name}")
    if kind == "endpoints":
        override_shipped_voice_endpoint(name, values, f"{path}endpoints.{name}")
    elif kind == "agents":
        merge_agent_cli_catalog({name: values}, path)
    else:
        _check_meeting_section(name, values, path)


def _check_meeting_section(name: str, values: dict[str, Any], path: str) -> None:
    try:
        resolve_configured_meeting_settings(find_meeting(name), values, {})
    except UsageError as error:
        raise ConfigError(f"{path}{error.message}", error.help) from None


def _check_limits_section(data: dict[str, Any], path: str) -> None:
    _check_limits(convert_toml_table_to_struct(LimitSettings, data, f"{path}limits"), path.rstrip(": "))


def _check_limits(limits: LimitSettings, where: object) -> None:
    """Raise an error for limits that the command line would reject too."""
    values = {**msgspec.structs.asdict(limits), "quorum": limits.quorum.seats}
    for name, least in LIMIT_MINIMUMS.items():
        if values[name] is not None and not Limits.is_in_range(name, values[name]):
            setting = "limits.quorum.seats" if name == "quorum" else f"limits.{name}"
            raise ConfigError(f"{where}: {setting} cannot be {values[name]}.", f"Give a number, {least:g} or more.")


def merge_configured_limits(limits: LimitSettings, changes: dict[str, Any], where: str) -> Limits:
    """Return the configured limits with those of a meeting's file on top."""
    changed = convert_toml_table_to_struct(
        LimitSettings, {**msgspec.to_builtins(limits), **changes}, f"{where}: limits"
    )
    _check_limits(changed, where)
    return changed.to_limits()


def resolve_configured_meeting_settings(
    rules: Meeting, values: dict[str, Any], filled: dict[str, Any]
) -> dict[str, int | float | str | bool]:
    """Return a meeting's settings: from files, filled in from the agenda, and defaults."""
    for name in values:
        if name in rules.filled_settings:
            message = f"[meetings.{rules.name}]: {name} is set when the meeting is opened and cannot be set in a file."
            raise UsageError(message, "Remove it from the file and set it on the command line instead.")
    settings = msgspec.structs.asdict(
        convert_toml_table_to_struct(rules.settings, values | filled, f"[meetings.{rules.name}]")
    )
    for name, value in settings.items():
        if name in LIMIT_MINIMUMS and not Limits.is_in_range(name, value):
            message = f"[meetings.{rules.name}]: {name} cannot be {value}."
            raise UsageError(message, f"Give a number, {LIMIT_MINIMUMS[name]:g} or more.")
    return settings


def _merge_tables(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = _merge_tables(cast("dict[str, Any]", old), cast("dict[str, Any]", value))
        else:
            merged[key] = value
    return merged


_KEY_REFERENCE = re.compile(r"(?:env:|secret:).+|\$\{\w+\}|none")
_REFERENCE_PREFIXES = ("env:", "secret:", "$")
_URL_LOGIN = re.compile(r"//([^/?#]+)@")
_HARMLESS_HEADER = re.compile(r"organi[sz]ation|project|version|agent|\bid$", re.IGNORECASE)
"""Headers with random-looking values that give no access."""


def _find_keys_in_config(values: dict[str, Any], file: str) -> Iterator[ConfigError]:
    """Yield an error for every setting that holds a key; the errors never repeat it."""
    redactor = Redactor()
    for place, text in _walk_texts(values, ()):
        if place[0] == "endpoints" and place[2:] == ("key",):
            if _KEY_REFERENCE.fullmatch(text):
                continue
            if text.startswith(_REFERENCE_PREFIXES):
                yield ConfigError(
                    f"{file}: {'.'.join(place)} is not the name of a key.", "Write env:NAME, ${NAME} or secret:NAME."
                )
            else:
                yield _key_refusal(file, place, "it must name a key, not contain one")
        elif redactor.finds(text) or redactor.finds(f"{place[-1]}: {text}") or _is_endpoint_secret(place, text):
            yield _key_refusal(file, place, "this looks like a key, and config files must not contain keys")


def _is_endpoint_secret(place: tuple[str, ...], text: str) -> bool:
    """Return whether an address holds a password or key, or a header holds a random value."""
    if place[0] != "endpoints":
        return False
    if place[2:] == ("base_url",):
        asked = parse_qsl(text.partition("?")[2])
        words = _URL_LOGIN.findall(text)
        words += [value for name, value in asked if name == "key" or is_secret_name_to_redact(name)]
        return any("${" not in word for word in words)
    return place[2:3] == ("headers",) and looks_like_secret_to_redact(text) and not _HARMLESS_HEADER.search(place[-1])


def _walk_texts(node: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every text in the file with its path; the names of settings are texts too."""
    if isinstance(node, str):
        yield place, node
    elif isinstance(node, dict):
        for name, value in cast("dict[str, Any]", node).items():
            yield (*place, "name"), name
            yield from _walk_texts(value, (*place, name))
    elif isinstance(node, list):
        for item in cast("list[Any]", node):
            yield from _walk_texts(item, place)


def _key_refusal(file: str, place: tuple[str, ...], why: str) -> ConfigError:
    where = Redactor().redact(".".join(place))
    if place[0] != "endpoints" or len(place) < 3:
        return ConfigError(
            f"{file}: {where}: {why}.",
            "Remove the key from the file. Store it with `roundtable keys set NAME`, then name it in an endpoint.",
        )
    name = re.sub(r"\W", "_", place[1]).upper() + "_KEY"
    instead = f'key = "secret:{name}"' if place[2:] == ("key",) else f"${{{name}}} in its place"
    return ConfigError(f"{file}: {where}: {why}.", f"Run `roundtable keys set {name}`, then write {instead}.")
