"""Reads the Dockerfiles and compose files of a project before anything is built, and names what must not be.

The images that a project is built from and runs: they must be on this machine, for nothing is fetched unasked.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import msgspec

from roundtable.core.decide.ruling import join_names
from roundtable.core.text.sanitize import sanitize_line
from roundtable.workshop.sandbox.compose_file import (
    ContainerFinding,
    ContainerRisk,
    assigns_secret,
    find_compose_file,
    is_compose_file,
    make_container_finding,
    read_compose_names,
    scan_compose_file,
)
from roundtable.workshop.sandbox.engines import ContainerEngine
from roundtable.workshop.sandbox.shell_text import ShellScanner

_KNOWN = """
FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL
MAINTAINER
"""
_COMMANDS = frozenset({"RUN", "CMD", "ENTRYPOINT", "HEALTHCHECK"})
_ELSEWHERE = re.compile(r"^(?:[a-z+]+://|git@|\$)|\.git(?:#|$)", re.IGNORECASE)
_PLAIN_SHELL = re.compile(
    r"(?:\S*/)?(?:(?:ba|da|z|k|a)?sh|pwsh|powershell|cmd)(?:\.exe)?(?: [-+/]\w+| (?:err|pipe)\w+)*", re.I
)
"""A shell with its options: anything more is run before every command of the file."""
_HEREDOC = re.compile(r"<<-?\s*([\"']?)(\w+)\1")
_DIRECTIVE = re.compile(r"^#\s*(\w+)\s*=\s*(\S+)\s*$")
_ENGINE_SOCKET = re.compile(r"(?:docker|podman|containerd)\.sock")


class DockerfileInstruction(msgspec.Struct, frozen=True):
    """One instruction of a Dockerfile: its line, its word in capitals, and all that follows, with here-documents."""

    line: int
    word: str
    text: str


def scan_container_files(files: Mapping[str, str]) -> tuple[ContainerFinding, ...]:
    """Everything that stands against building these files; nothing means that none of the known dangers was seen."""
    found: list[ContainerFinding] = []
    for path, text in files.items():
        if is_dockerfile(path):
            found += scan_dockerfile(path, text)
        elif is_compose_file(path):
            found += scan_compose_file(path, text)
    return tuple(found)


def is_dockerfile(path: str) -> bool:
    """Whether it is one by its name."""
    name = PurePosixPath(path).name.lower()
    return any(word in name for word in ("dockerfile", "containerfile"))


def scan_dockerfile(path: str, text: str) -> list[ContainerFinding]:
    """What stands against building one."""
    shell = ShellScanner()
    found = [make_container_finding(path, line, kind) for line, kind in _directives(text)]
    for it in parse_dockerfile_instructions(text):
        kinds = dict.fromkeys(_refused(it, shell))
        found += [make_container_finding(path, it.line, kind) for kind in kinds]
    return found


def _refused(it: DockerfileInstruction, shell: ShellScanner) -> Iterator[ContainerRisk]:
    if it.word == "ONBUILD":
        word, _, text = it.text.partition(" ")
        yield from _refused(DockerfileInstruction(it.line, word.upper(), text), shell)
    elif it.word not in _KNOWN.split():
        yield ContainerRisk.UNREADABLE
    if _ENGINE_SOCKET.search(it.text):
        yield ContainerRisk.ENGINE_SOCKET
    if it.word in _COMMANDS:
        yield from _options(it.text)
        if shell.refuses(_command(it.text)):
            yield ContainerRisk.PIPE_TO_SHELL
    if it.word == "SHELL" and not _PLAIN_SHELL.fullmatch(_command(it.text)):
        yield ContainerRisk.PIPE_TO_SHELL
    if it.word in ("ADD", "COPY"):
        head, _, script = it.text.partition("\n")
        shell.writes(_HEREDOC.sub(r"\2", head).split(), script)
    if it.word == "ADD" and any(_ELSEWHERE.search(source) for source in _sources(it.text)):
        yield ContainerRisk.REMOTE
    if it.word == "FROM" and "$" in _image(it.text):
        yield ContainerRisk.UNREADABLE
    if it.word in ("ARG", "ENV"):
        shell.sets(_variables(it.text))
        if assigns_secret(it.text):
            yield ContainerRisk.SECRET


def _options(text: str) -> Iterator[ContainerRisk]:
    """What the options of RUN ask for, and what a docker command inside it would; the builder takes quotes away."""
    text = re.sub(r"[\"'\\]", "", text)
    if re.search(r"--security[= ]+insecure|--privileged\b", text):
        yield ContainerRisk.PRIVILEGED
    if re.search(r"--net(?:work)?[= ]+host", text):
        yield ContainerRisk.HOST_NETWORK
    if re.search(r"--(?:pid|ipc|uts|userns)[= ]+host", text):
        yield ContainerRisk.HOST_PROCESSES
    if re.search(r"--mount[= ]\S*type=ssh", text) or re.search(r"--mount[= ]\S*(?:source|src|from)=[./]*\.\.", text):
        yield ContainerRisk.HOST_MOUNT


def _command(text: str) -> str:
    """A command as a shell would see it; the other form is a list in JSON."""
    start = text.find("[")
    if start >= 0 and text.rstrip().endswith("]"):
        try:
            return " ".join(map(str, json.loads(text[start:])))
        except ValueError:
            return text
    return text


def _variables(text: str) -> dict[str, str]:
    """What ARG or ENV sets; `ENV NAME value` is the old way to write it."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    if words and "=" not in words[0]:
        return {words[0]: " ".join(words[1:])}
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _image(text: str) -> str:
    """What FROM begins with."""
    return next((it for it in text.split() if not it.startswith("--")), "")


def _sources(text: str) -> list[str]:
    words = [it for it in re.split(r"[\s,\[\]\"']+", text) if it and not it.startswith("--")]
    return words[:-1] or words


def _directives(text: str) -> Iterator[tuple[int, ContainerRisk]]:
    """Another builder than the usual one is a program of its own."""
    for number, builder in dockerfile_syntax_images(text):
        if not builder.startswith(("docker/dockerfile:", "docker/dockerfile@")):
            yield number, ContainerRisk.REMOTE


def dockerfile_syntax_images(text: str) -> Iterator[tuple[int, str]]:
    """The images that a Dockerfile wants to be built by, with their lines."""
    for number, line in enumerate(text.splitlines(), 1):
        directive = _DIRECTIVE.match(line.strip())
        if directive is None:
            return
        if directive[1].lower() == "syntax":
            yield number, directive[2]


def parse_dockerfile_instructions(text: str) -> Iterator[DockerfileInstruction]:
    escape = "`" if re.match(r"(?:#.*\n)*#\s*escape\s*=\s*`", text, re.IGNORECASE) else "\\"
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        whole = line.strip()
        while whole.endswith(escape):
            _, following = next(lines, (0, ""))
            if following.lstrip().startswith("#"):
                continue
            whole = whole[:-1] + " " + following.strip()
        for _, name in _HEREDOC.findall(whole):
            for _, body in lines:
                if body.strip() == name:
                    break
                whole += "\n" + body
        word, _, rest = whole.replace("\t", " ").partition(" ")
        yield DockerfileInstruction(number, word.upper(), rest.strip())


_PLAIN = re.compile(r"[A-Za-z0-9][\w.:/@-]{0,250}")
_TAKEN_FROM = re.compile(r"(?:^--|,|=)from=[\"']?([^\s,\"']+)", re.IGNORECASE)


async def describe_missing_images(engine: ContainerEngine, files: Mapping[str, str]) -> str:
    """Which images are not here and how a person fetches them, in two sentences; nothing where all are."""
    missing = [it for it in dict.fromkeys(_images(files)) if not await _is_here(engine, it)]
    if not missing:
        return ""
    names = join_names([sanitize_line(it, 100) for it in missing])
    fetching = [f"`{engine.name} pull {it}`" for it in missing if _plain(it)]
    there = (
        f"The images {names} are not on this machine" if missing[1:] else f"The image {names} is not on this machine"
    )
    what_to_do = f"Run {join_names(fetching)} yourself" if fetching else "Write the names plainly"
    return f"{there}, and nothing is fetched unasked. {what_to_do}, and then run it again."


async def _is_here(engine: ContainerEngine, image: str) -> bool:
    return _plain(image) and (await engine.ask(("image", "inspect", image))).code == 0


def _plain(image: str) -> bool:
    return _PLAIN.fullmatch(image) is not None


def _images(files: Mapping[str, str]) -> Iterator[str]:
    """A compose file may have any of the Dockerfiles built; without one, only that at the root is."""
    compose = find_compose_file(files)
    if compose:
        yield from read_compose_names(files[compose]).images
    for path in files:
        if path == "Dockerfile" or (compose and is_dockerfile(path)):
            yield from _of_dockerfile(files[path])


def _of_dockerfile(text: str) -> Iterator[str]:
    """Those it begins with, those it takes files from, and the one that is to build it; not its own stages."""
    yield from (image for _, image in dockerfile_syntax_images(text))
    stages = ["scratch"]
    begun = 0
    for it in parse_dockerfile_instructions(text):
        word, rest = it.word, it.text
        if word == "ONBUILD":
            word, _, rest = rest.partition(" ")
        words = rest.split()
        options = [it for it in words if it.startswith("--")]
        if word.upper() == "FROM":
            image, *named = [it for it in words if it not in options] or [""]
            if image.lower() not in stages:
                yield image
            stages += [str(begun), *(name.lower() for name in named[1:])]
            begun += 1
        elif word.upper() in ("COPY", "ADD", "RUN"):
            taken = [image for option in options for image in _TAKEN_FROM.findall(option)]
            yield from (image for image in taken if image.lower() not in stages)
