"""Reads a compose file line by line and refuses what it does not know: no parser stands between it and the reader.

What is found in a Dockerfile or a compose file that is reason enough not to build it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import PurePosixPath

import msgspec

from roundtable.workshop.sandbox.shell_text import ShellScanner

_SECRET = re.compile(
    r"(?<!\w)\w{0,99}(?:PASS(?:WORD|WD)?|SECRET|TOKEN|API_?KEY|PRIVATE_?KEY|CREDENTIAL)\d*(S?_\w{1,99}|S)?"
    r"\s*[= ]\s*[\"']?([^\s\"'$]+)",
    re.IGNORECASE,
)
_ABOUT_ONE = re.compile(r"[\d.]+|true|false|yes|no|on|off|/.*", re.IGNORECASE)
"""What a name is given that goes on behind the word: TOKEN_LIMIT=4, SECRET_FILE=/run/key."""


class ContainerRisk(StrEnum):
    """Why a build is refused. Nothing else."""

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


class ContainerFinding(msgspec.Struct, frozen=True):
    """One line that is refused, and why, in one sentence for people."""

    path: str
    line: int
    kind: ContainerRisk
    sentence: str


RISK_SENTENCES = {
    ContainerRisk.PIPE_TO_SHELL: "It runs what it fetches, or hides what it runs.",
    ContainerRisk.REMOTE: "It takes something from elsewhere that nobody has read.",
    ContainerRisk.PRIVILEGED: "It asks for rights over this machine.",
    ContainerRisk.HOST_NETWORK: "It asks for the network of this machine.",
    ContainerRisk.HOST_PROCESSES: "It asks to be among the processes of this machine.",
    ContainerRisk.HOST_MOUNT: "It asks for files of this machine outside the project.",
    ContainerRisk.ENGINE_SOCKET: "It asks to command the container engine itself.",
    ContainerRisk.UNCONFINED: "It takes away what keeps a container in its place.",
    ContainerRisk.SECRET: "A secret stands in it, and would be in the image.",
    ContainerRisk.UNREADABLE: "This cannot be read with certainty; write it plainly.",
}


def assigns_secret(text: str) -> bool:
    """Whether a name that is one of a secret's is given a value in it."""
    return any(not (more and _ABOUT_ONE.fullmatch(value)) for more, value in _SECRET.findall(text))


def make_container_finding(path: str, line: int, kind: ContainerRisk) -> ContainerFinding:
    """A finding with its usual sentence."""
    return ContainerFinding(path, line, kind, RISK_SENTENCES[kind])


_NAME = re.compile(r"^(?:docker-)?compose(?:[.-][\w.-]+)?\.ya?ml$", re.IGNORECASE)
_KEY = re.compile(r"""^(?P<quote>["']?)(?P<key>[\w./-]+)(?P=quote)\s*:(?:\s+(?P<value>.*))?$""")
_BLOCK = re.compile(r"^[|>][+-]?\d?$")
_NO = frozenset({"false", "no", "off", "n", "0", ""})
_HARMLESS = """
version name services image build context dockerfile args target command entrypoint environment env_file ports expose
depends_on condition healthcheck test interval timeout retries start_period volumes networks restart working_dir user
labels container_name hostname init stdin_open tty read_only tmpfs mem_limit cpus pids_limit deploy resources limits
reservations memory profiles stop_signal stop_grace_period cap_drop security_opt shm_size platform pull_policy links
type source bind volume driver internal published protocol secrets configs file aliases default size nocopy
"""
_OWN_NAMES = frozenset(
    {"services", "networks", "volumes", "environment", "labels", "args", "secrets", "configs", "depends_on"}
)
"""Below these, people choose the names."""
_REFUSED = {
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
"""Keys that stand for a danger by themselves, unless they are switched off."""
_OF_THE_HOST = {
    "network_mode": ContainerRisk.HOST_NETWORK,
    "network": ContainerRisk.HOST_NETWORK,
    "pid": ContainerRisk.HOST_PROCESSES,
    "ipc": ContainerRisk.HOST_PROCESSES,
    "uts": ContainerRisk.HOST_PROCESSES,
    "userns_mode": ContainerRisk.HOST_PROCESSES,
}
_SAFE_SPACES = frozenset({"none", "private", "shareable"})


class ComposeEntry(msgspec.Struct, frozen=True):
    """One line: where it stands, under which keys, and its value."""

    line: int
    under: tuple[str, ...]
    value: str

    @property
    def key(self) -> str:
        """The nearest key."""
        return self.under[-1] if self.under else ""


class _Unreadable(Exception):
    """A line that could mean something else than it seems to."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class ComposeNames(msgspec.Struct, frozen=True):
    """The names in a compose file: its services, those that are built, its networks, and the images of the others."""

    services: tuple[str, ...]
    built: frozenset[str]
    networks: tuple[str, ...]
    images: tuple[str, ...]


def read_compose_names(text: str) -> ComposeNames:
    """The names in a file that the scan has let through."""
    entries = list(_entries(text))
    paths = [entry.under for entry in entries]
    built = frozenset(it[1] for it in paths if it[:1] == ("services",) and it[2:3] == ("build",))
    images = tuple(it.value for it in entries if _is_image(it.under) and it.under[1] not in built)
    return ComposeNames(_below("services", paths), built, _below("networks", paths), images)


def _is_image(under: tuple[str, ...]) -> bool:
    return under[:1] == ("services",) and under[2:] == ("image",)


def _below(key: str, paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(it[1] for it in paths if it[:1] == (key,) and len(it) > 1))


def is_compose_file(path: str) -> bool:
    """Whether it is one by its name."""
    return bool(_NAME.match(PurePosixPath(path).name))


def find_compose_file(paths: Iterable[str]) -> str:
    """The one at the root, the first by name where there are several; nothing where there is none."""
    return next((path for path in sorted(paths) if is_compose_file(path) and "/" not in path), "")


def scan_compose_file(path: str, text: str) -> list[ContainerFinding]:
    """What stands against starting it."""
    found: dict[tuple[int, ContainerRisk], None] = {}
    try:
        for entry in _entries(text):
            found |= {(entry.line, kind): None for kind in _refused(entry)}
    except _Unreadable as wrong:
        found[wrong.line, ContainerRisk.UNREADABLE] = None
    return [make_container_finding(path, line, kind) for line, kind in found]


def _refused(entry: ComposeEntry) -> Iterator[ContainerRisk]:
    key, value = entry.key, entry.value
    off = value.lower() in _NO
    named = len(entry.under) > 1 and entry.under[-2] in _OWN_NAMES
    if re.search(r"(?:docker|podman|containerd)\.sock", value):
        yield ContainerRisk.ENGINE_SOCKET
    if key == "privileged" and not off:
        yield ContainerRisk.PRIVILEGED
    elif key in _REFUSED and not named and (not off or value == ""):
        yield _REFUSED[key]
    elif key in _OF_THE_HOST and not named and value.lower() not in _SAFE_SPACES:
        yield _OF_THE_HOST[key]
    elif key == "security_opt" and re.search(r"unconfined|disable|false|\$", value):
        yield ContainerRisk.UNCONFINED
    elif key not in _HARMLESS.split() and not named and key not in _OF_THE_HOST and key != "privileged":
        yield ContainerRisk.UNREADABLE
    if key == "image" and not named and "$" in value:
        yield ContainerRisk.UNREADABLE
    if key in ("command", "entrypoint", "test") and ShellScanner().refuses(value.strip("[]").replace(",", " ")):
        yield ContainerRisk.PIPE_TO_SHELL
    yield from _of_paths(entry)
    if "build" in entry.under and "args" in entry.under and _is_secret(entry):
        yield ContainerRisk.SECRET


def _of_paths(entry: ComposeEntry) -> Iterator[ContainerRisk]:
    key, value = entry.key, entry.value
    in_volumes = "volumes" in entry.under and len(entry.under) > 2
    if (in_volumes and key == "volumes" and _is_outside(value.split(":")[0])) or (
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
    """Whether it may lie outside the project: a name alone is a volume of the engine's own."""
    return path.startswith(("/", "~", "\\")) or "$" in path or posixpath.normpath(path).startswith("..")


def _is_secret(entry: ComposeEntry) -> bool:
    return assigns_secret(entry.value if entry.key == "args" else f"{entry.key}={entry.value}")


def _entries(text: str) -> Iterator[ComposeEntry]:
    """The lines with the keys they stand under; a list's items stand under the list's own key."""
    stack: list[tuple[int, str]] = []
    lines = list(enumerate(text.splitlines(), 1))
    while lines:
        number, raw = lines.pop(0)
        line = _uncommented(raw, number).strip()
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
        under = tuple(key for _, key in stack)
        if _BLOCK.match(value):
            yield ComposeEntry(number, under, _block(lines, outer))
        else:
            yield from (ComposeEntry(number, under, part) for part in _scalars(value, number))


def _block(lines: list[tuple[int, str]], outer: int) -> str:
    """The text that stands deeper than its key, as it is."""
    taken: list[str] = []
    while lines and (not lines[0][1].strip() or len(lines[0][1]) - len(lines[0][1].lstrip(" ")) > outer):
        taken.append(lines.pop(0)[1].strip())
    return "\n".join(taken)


def _scalars(value: str, number: int) -> Iterator[str]:
    """A plain value, or those of a list on one line; anything cleverer is not read."""
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


def _uncommented(raw: str, number: int) -> str:
    if "\t" in raw:
        raise _Unreadable(number)
    quote = ""
    for place, sign in enumerate(raw):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'" and (place == 0 or raw[place - 1] in " [,:-"):
            quote = sign
        elif sign == "#" and (place == 0 or raw[place - 1] == " "):
            return raw[:place]
    return raw
