"""What is found in a Dockerfile or a compose file that is reason enough not to build it."""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

_SECRET = re.compile(
    r"(?<!\w)\w{0,99}(?:PASS(?:WORD|WD)?|SECRET|TOKEN|API_?KEY|PRIVATE_?KEY|CREDENTIAL)\d*(S?_\w{1,99}|S)?"
    r"\s*[= ]\s*[\"']?([^\s\"'$]+)",
    re.IGNORECASE,
)
_ABOUT_ONE = re.compile(r"[\d.]+|true|false|yes|no|on|off|/.*", re.IGNORECASE)
"""What a name is given that goes on behind the word: TOKEN_LIMIT=4, SECRET_FILE=/run/key."""


class FindingKind(StrEnum):
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


class Finding(msgspec.Struct, frozen=True):
    """One line that is refused, and why, in one sentence for people."""

    path: str
    line: int
    kind: FindingKind
    sentence: str


SENTENCES = {
    FindingKind.PIPE_TO_SHELL: "It runs what it fetches, or hides what it runs.",
    FindingKind.REMOTE: "It takes something from elsewhere that nobody has read.",
    FindingKind.PRIVILEGED: "It asks for rights over this machine.",
    FindingKind.HOST_NETWORK: "It asks for the network of this machine.",
    FindingKind.HOST_PROCESSES: "It asks to be among the processes of this machine.",
    FindingKind.HOST_MOUNT: "It asks for files of this machine outside the project.",
    FindingKind.ENGINE_SOCKET: "It asks to command the container engine itself.",
    FindingKind.UNCONFINED: "It takes away what keeps a container in its place.",
    FindingKind.SECRET: "A secret stands in it, and would be in the image.",
    FindingKind.UNREADABLE: "This cannot be read with certainty; write it plainly.",
}


def sets_a_secret(text: str) -> bool:
    """Whether a name that is one of a secret's is given a value in it."""
    return any(not (more and _ABOUT_ONE.fullmatch(value)) for more, value in _SECRET.findall(text))


def finding(path: str, line: int, kind: FindingKind) -> Finding:
    """A finding with its usual sentence."""
    return Finding(path, line, kind, SENTENCES[kind])
