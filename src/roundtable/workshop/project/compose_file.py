"""Reads compose files and names what must not be built or started.

The file is read line by line without a YAML parser, and every key that is not known to be harmless is refused: what the
scan accepts has only one possible meaning.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import PurePosixPath

import msgspec

from roundtable.workshop.project.shell_text import ShellScanner

_SECRET = re.compile(
    r"(?<!\w)\w{0,99}(?:PASS(?:WORD|WD)?|SECRET|TOKEN|API_?KEY|PRIVATE_?KEY|CREDENTIAL)\d*(S?_\w{1,99}|S)?"
    r"\s*[= ]\s*[\"']?([^\s\"'$]+)",
    re.IGNORECASE,
)
_HARMLESS_VALUE = re.compile(r"[\d.]+|true|false|yes|no|on|off|/.*", re.IGNORECASE)
"""Values that are no secrets for a name that continues after the word: TOKEN_LIMIT=4, SECRET_FILE=/run/key."""


class ContainerRisk(StrEnum):
    """The reason why a container build is refused (a closed set)."""

    PIPE_TO_SHELL = "pipe_to_shell"
    REMOTE = "remote"
    PRIVILEGED = "privileged"
    HOST_NETWORK = "host_network"
    HOST_PROCESSES = "host_processes"
    HOST_MOUNT = "host_mount"
    ENGINE_SOCKET = "engine_socket"
    UNCONFINED = "unconfined"
    SECRET = "secret"
    UNREADABLE = "unreadable"


_RISK_SENTENCES = {
    ContainerRisk.PIPE_TO_SHELL: "This line runs a downloaded program, or hides what it runs.",
    ContainerRisk.REMOTE: "This line uses unchecked files or images from outside the project.",
    ContainerRisk.PRIVILEGED: "This line asks for privileges on this machine.",
    ContainerRisk.HOST_NETWORK: "This line asks for access to this machine's network.",
    ContainerRisk.HOST_PROCESSES: "This line asks for access to this machine's processes.",
    ContainerRisk.HOST_MOUNT: "This line asks for files outside the project.",
    ContainerRisk.ENGINE_SOCKET: "This line asks for control over the container engine.",
    ContainerRisk.UNCONFINED: "This line disables the isolation of the container.",
    ContainerRisk.SECRET: "This line contains a secret, which would end up in the image.",
    ContainerRisk.UNREADABLE: "This line is ambiguous or unsupported; write it in a simpler form.",
}


class ContainerFinding(msgspec.Struct, frozen=True):
    """One refused line of a container file, and why it is refused."""

    path: str
    line: int
    kind: ContainerRisk

    @property
    def sentence(self) -> str:
        """The reason in one sentence for people."""
        return _RISK_SENTENCES[self.kind]


def assigns_secret_in_container_file(text: str) -> bool:
    """Whether the text assigns a value to a name that sounds like a secret."""
    return any(not (indirection and _HARMLESS_VALUE.fullmatch(value)) for indirection, value in _SECRET.findall(text))


_NAME = re.compile(r"^(?:docker-)?compose(?:[.-][\w.-]+)?\.ya?ml$", re.IGNORECASE)
_KEY = re.compile(r"""^(?P<quote>["']?)(?P<key>[\w./-]+)(?P=quote)\s*:(?:\s+(?P<value>.*))?$""")
_BLOCK = re.compile(r"^[|>][+-]?\d?$")
_OFF_VALUES = frozenset({"false", "no", "off", "n", "0", ""})
_HARMLESS = """
version name services image build context dockerfile args target command entrypoint environment env_file ports expose
depends_on condition healthcheck test interval timeout retries start_period volumes networks restart working_dir user
labels container_name hostname init stdin_open tty read_only tmpfs mem_limit cpus pids_limit deploy resources limits
reservations memory profiles stop_signal stop_grace_period cap_drop security_opt shm_size platform pull_policy links
type source bind volume driver internal published protocol secrets configs file aliases default size nocopy
"""
_FREELY_NAMED = frozenset(
    {"services", "networks", "volumes", "environment", "labels", "args", "secrets", "configs", "depends_on"}
)
"""The keys below these are chosen freely by people."""
_DANGEROUS_KEYS = {
    "cap_add": ContainerRisk.PRIVILEGED,
    "devices": ContainerRisk.PRIVILEGED,
    "device_cgroup_rules": ContainerRisk.PRIVILEGED,
    "entitlements": ContainerRisk.PRIVILEGED,
    "gpus": ContainerRisk.PRIVILEGED,
    "sysctls": ContainerRisk.PRIVILEGED,
    "runtime": ContainerRisk.UNCONFINED,
    "cgroup": ContainerRisk.UNCONFINED,
    "cgroup_parent": ContainerRisk.UNCONFINED,
    "extra_hosts": ContainerRisk.HOST_NETWORK,
    "volumes_from": ContainerRisk.HOST_MOUNT,
    "driver_opts": ContainerRisk.HOST_MOUNT,
    "ssh": ContainerRisk.HOST_MOUNT,
    "external": ContainerRisk.HOST_MOUNT,
    "use_api_socket": ContainerRisk.ENGINE_SOCKET,
    "include": ContainerRisk.REMOTE,
    "extends": ContainerRisk.REMOTE,
    "additional_contexts": ContainerRisk.REMOTE,
    "provider": ContainerRisk.REMOTE,
}
"""Keys that are dangerous by themselves unless they are switched off."""
_HOST_KEYS = {
    "network_mode": ContainerRisk.HOST_NETWORK,
    "network": ContainerRisk.HOST_NETWORK,
    "pid": ContainerRisk.HOST_PROCESSES,
    "ipc": ContainerRisk.HOST_PROCESSES,
    "uts": ContainerRisk.HOST_PROCESSES,
    "userns_mode": ContainerRisk.HOST_PROCESSES,
}
_SAFE_NAMESPACES = frozenset({"none", "private", "shareable"})


class ComposeEntry(msgspec.Struct, frozen=True):
    """One line of a compose file: its number, the keys above it, and its value."""

    line: int
    keys: tuple[str, ...]
    value: str

    @property
    def key(self) -> str:
        """The innermost key."""
        return self.keys[-1] if self.keys else ""


class _Unreadable(Exception):
    """A line that could mean something other than it seems to."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class ComposeNames(msgspec.Struct, frozen=True):
    """The names in a compose file: services, services that are built, networks, and images of the other services."""

    services: tuple[str, ...]
    built: frozenset[str]
    networks: tuple[str, ...]
    images: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> ComposeNames:
        """Return the names in a compose file that the scan accepted."""
        entries = list(_entries(text))
        paths = [entry.keys for entry in entries]
        built = frozenset(path[1] for path in paths if path[:1] == ("services",) and path[2:3] == ("build",))
        images = tuple(entry.value for entry in entries if _is_image(entry.keys) and entry.keys[1] not in built)
        return cls(_names_below("services", paths), built, _names_below("networks", paths), images)


def _is_image(keys: tuple[str, ...]) -> bool:
    return keys[:1] == ("services",) and keys[2:] == ("image",)


def _names_below(key: str, paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path[1] for path in paths if path[:1] == (key,) and len(path) > 1))


def is_project_compose_file(path: str) -> bool:
    """Whether a file is a compose file by its name."""
    return bool(_NAME.match(PurePosixPath(path).name))


def find_project_compose_file(paths: Iterable[str]) -> str:
    """Return the compose file at the root, the first by name if there are several; empty if there is none."""
    return next((path for path in sorted(paths) if is_project_compose_file(path) and "/" not in path), "")


def scan_project_compose_file(path: str, text: str) -> list[ContainerFinding]:
    """Return what forbids starting a compose file."""
    risks: dict[tuple[int, ContainerRisk], None] = {}
    try:
        for entry in _entries(text):
            risks |= {(entry.line, kind): None for kind in _risks_of_entry(entry)}
    except _Unreadable as unreadable:
        risks[unreadable.line, ContainerRisk.UNREADABLE] = None
    return [ContainerFinding(path, line, kind) for line, kind in risks]


def _risks_of_entry(entry: ComposeEntry) -> Iterator[ContainerRisk]:
    key, value = entry.key, entry.value
    is_off = value.lower() in _OFF_VALUES
    is_freely_named = len(entry.keys) > 1 and entry.keys[-2] in _FREELY_NAMED
    if re.search(r"(?:docker|podman|containerd)\.sock", value):
        yield ContainerRisk.ENGINE_SOCKET
    if key == "privileged" and not is_off:
        yield ContainerRisk.PRIVILEGED
    elif key in _DANGEROUS_KEYS and not is_freely_named and (not is_off or value == ""):
        yield _DANGEROUS_KEYS[key]
    elif key in _HOST_KEYS and not is_freely_named and value.lower() not in _SAFE_NAMESPACES:
        yield _HOST_KEYS[key]
    elif key == "security_opt" and re.search(r"unconfined|disable|false|\$", value):
        yield ContainerRisk.UNCONFINED
    elif key not in _HARMLESS.split() and not is_freely_named and key not in _HOST_KEYS and key != "privileged":
        yield ContainerRisk.UNREADABLE
    if key == "image" and not is_freely_named and "$" in value:
        yield ContainerRisk.UNREADABLE
    if key in ("command", "entrypoint", "test") and ShellScanner().is_dangerous(value.strip("[]").replace(",", " ")):
        yield ContainerRisk.PIPE_TO_SHELL
    yield from _path_risks(entry)
    if "build" in entry.keys and "args" in entry.keys and _assigns_build_secret(entry):
        yield ContainerRisk.SECRET


def _path_risks(entry: ComposeEntry) -> Iterator[ContainerRisk]:
    key, value = entry.key, entry.value
    is_in_volumes = "volumes" in entry.keys and len(entry.keys) > 2
    if (is_in_volumes and key == "volumes" and _is_outside(value.split(":")[0])) or (
        key in ("source", "env_file", "file") and _is_outside(value)
    ):
        yield ContainerRisk.HOST_MOUNT
    if (
        key in ("build", "context", "dockerfile")
        and value
        and ("://" in value or value.startswith("git@") or _is_outside(value))
    ):
        yield ContainerRisk.REMOTE
    if key == "dockerfile" and "dockerfile" not in value.lower() and "containerfile" not in value.lower():
        yield ContainerRisk.UNREADABLE


def _is_outside(path: str) -> bool:
    """Whether a path may lie outside the project; a bare name is a volume of the engine."""
    return path.startswith(("/", "~", "\\")) or "$" in path or posixpath.normpath(path).startswith("..")


def _assigns_build_secret(entry: ComposeEntry) -> bool:
    return assigns_secret_in_container_file(entry.value if entry.key == "args" else f"{entry.key}={entry.value}")


def _entries(text: str) -> Iterator[ComposeEntry]:
    """Yield the entries with the keys above them; items of a list have the keys of the list."""
    stack: list[tuple[int, str]] = []
    lines = list(enumerate(text.splitlines(), 1))
    while lines:
        number, raw = lines.pop(0)
        line = _strip_comment(raw, number).strip()
        if not line or (line == "---" and number == 1):
            continue
        outer = indent = len(raw) - len(raw.lstrip(" "))
        is_item = line == "-" or line.startswith("- ")
        while line == "-" or line.startswith("- "):
            indent += len(line) - len(line[1:].lstrip())
            line = line[1:].lstrip()
        pair = _KEY.match(line)
        if pair is None and not is_item:
            raise _Unreadable(number)
        while stack and (stack[-1][0] > outer if is_item else stack[-1][0] >= outer):
            stack.pop()
        value = line if pair is None else pair["value"] or ""
        if pair is not None:
            stack.append((indent, pair["key"]))
        keys = tuple(key for _, key in stack)
        if _BLOCK.match(value):
            yield ComposeEntry(number, keys, _take_block(lines, outer))
        else:
            yield from (ComposeEntry(number, keys, part) for part in _scalars(value, number))


def _take_block(lines: list[tuple[int, str]], outer: int) -> str:
    """Return an indented text block, with the indentation removed."""
    block: list[str] = []
    while lines and (not lines[0][1].strip() or len(lines[0][1]) - len(lines[0][1].lstrip(" ")) > outer):
        block.append(lines.pop(0)[1].strip())
    return "\n".join(block)


def _scalars(value: str, number: int) -> Iterator[str]:
    """Yield a plain value, or the values of a list on one line; anything more complex is refused."""
    if value in ("{}", "[]"):
        yield ""
        return
    if value.startswith("[") and value.endswith("]") and not re.search(r"[\[{]", value[1:]):
        yield value
        for part in value[1:-1].split(","):
            yield from _scalars(part.strip(), number)
        return
    quote = value[:1] if value[:1] in "\"'" else ""
    bare = value[1:-1] if quote and value.endswith(quote) and len(value) > 1 else value
    if value[:1] in ("&", "*", "!", "{", "[", "<", "|", ">", "%", "@", "`") or (quote and bare is value):
        raise _Unreadable(number)
    if quote and (quote in bare or (quote == '"' and "\\" in bare)):
        raise _Unreadable(number)
    yield bare


def _strip_comment(raw: str, number: int) -> str:
    if "\t" in raw:
        raise _Unreadable(number)
    quote = ""
    for place, letter in enumerate(raw):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'" and (place == 0 or raw[place - 1] in " [,:-"):
            quote = letter
        elif letter == "#" and (place == 0 or raw[place - 1] == " "):
            return raw[:place]
    return raw
