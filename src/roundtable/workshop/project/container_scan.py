"""Scans the Dockerfiles and compose files of a project for dangers and missing images before anything is built."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import msgspec

from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.text.wording import join_names_as_text
from roundtable.workshop.project.compose_file import (
    ComposeNames,
    ContainerFinding,
    ContainerRisk,
    assigns_secret_in_container_file,
    find_project_compose_file,
    is_project_compose_file,
    scan_project_compose_file,
)
from roundtable.workshop.project.shell_text import ShellScanner
from roundtable.workshop.sandbox.engines import ContainerEngine

_KEYWORDS = """
FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL
MAINTAINER
"""
_COMMAND_KEYWORDS = frozenset({"RUN", "CMD", "ENTRYPOINT", "HEALTHCHECK"})
_REMOTE_SOURCE = re.compile(r"^(?:[a-z+]+://|git@|\$)|\.git(?:#|$)", re.IGNORECASE)
_PLAIN_SHELL = re.compile(
    r"(?:\S*/)?(?:(?:ba|da|z|k|a)?sh|pwsh|powershell|cmd)(?:\.exe)?(?: [-+/]\w+| (?:err|pipe)\w+)*", re.I
)
"""A shell with its options only: anything more would run before every command of the file."""
_HEREDOC = re.compile(r"<<-?\s*([\"']?)(\w+)\1")
_DIRECTIVE = re.compile(r"^#\s*(\w+)\s*=\s*(\S+)\s*$")
_ENGINE_SOCKET = re.compile(r"(?:docker|podman|containerd)\.sock")


class DockerfileInstruction(msgspec.Struct, frozen=True):
    """One instruction of a Dockerfile: its line, its keyword in capitals, and the text that follows, with
    here-documents."""

    line: int
    word: str
    text: str


def scan_project_container_files(files: Mapping[str, str]) -> tuple[ContainerFinding, ...]:
    """Return everything that forbids building these files; an empty result means that no known danger was found."""
    findings: list[ContainerFinding] = []
    for path, text in files.items():
        if _is_dockerfile(path):
            findings += _scan_dockerfile(path, text)
        elif is_project_compose_file(path):
            findings += scan_project_compose_file(path, text)
    return tuple(findings)


def _is_dockerfile(path: str) -> bool:
    """Whether a file is a Dockerfile by its name."""
    name = PurePosixPath(path).name.lower()
    return any(word in name for word in ("dockerfile", "containerfile"))


def _scan_dockerfile(path: str, text: str) -> list[ContainerFinding]:
    """Return what forbids building a Dockerfile."""
    shell = ShellScanner()
    findings = [ContainerFinding(path, line, kind) for line, kind in _directive_risks(text)]
    for instruction in _parse_dockerfile_instructions(text):
        kinds = dict.fromkeys(_risks_of_instruction(instruction, shell))
        findings += [ContainerFinding(path, instruction.line, kind) for kind in kinds]
    return findings


def _risks_of_instruction(instruction: DockerfileInstruction, shell: ShellScanner) -> Iterator[ContainerRisk]:
    if instruction.word == "ONBUILD":
        word, _, text = instruction.text.partition(" ")
        yield from _risks_of_instruction(DockerfileInstruction(instruction.line, word.upper(), text), shell)
    elif instruction.word not in _KEYWORDS.split():
        yield ContainerRisk.UNREADABLE
    if _ENGINE_SOCKET.search(instruction.text):
        yield ContainerRisk.ENGINE_SOCKET
    if instruction.word in _COMMAND_KEYWORDS:
        yield from _option_risks(instruction.text)
        if shell.is_dangerous(_command_text(instruction.text)):
            yield ContainerRisk.PIPE_TO_SHELL
    if instruction.word == "SHELL" and not _PLAIN_SHELL.fullmatch(_command_text(instruction.text)):
        yield ContainerRisk.PIPE_TO_SHELL
    if instruction.word in ("ADD", "COPY"):
        head, _, script = instruction.text.partition("\n")
        shell.note_written_file(_HEREDOC.sub(r"\2", head).split(), script)
    if instruction.word == "ADD" and any(_REMOTE_SOURCE.search(source) for source in _sources(instruction.text)):
        yield ContainerRisk.REMOTE
    if instruction.word == "FROM" and "$" in _base_image(instruction.text):
        yield ContainerRisk.UNREADABLE
    if instruction.word in ("ARG", "ENV"):
        shell.set_variables(_variables_set(instruction.text))
        if assigns_secret_in_container_file(instruction.text):
            yield ContainerRisk.SECRET


def _option_risks(text: str) -> Iterator[ContainerRisk]:
    """Yield the risks in options of RUN and of a docker command inside it; quotes are removed first, as the builder
    does."""
    text = re.sub(r"[\"'\\]", "", text)
    if re.search(r"--security[= ]+insecure|--privileged\b", text):
        yield ContainerRisk.PRIVILEGED
    if re.search(r"--net(?:work)?[= ]+host", text):
        yield ContainerRisk.HOST_NETWORK
    if re.search(r"--(?:pid|ipc|uts|userns)[= ]+host", text):
        yield ContainerRisk.HOST_PROCESSES
    if re.search(r"--mount[= ]\S*type=ssh", text) or re.search(r"--mount[= ]\S*(?:source|src|from)=[./]*\.\.", text):
        yield ContainerRisk.HOST_MOUNT


def _command_text(text: str) -> str:
    """Return a command as a shell would see it; the exec form is a JSON list."""
    start = text.find("[")
    if start >= 0 and text.rstrip().endswith("]"):
        try:
            return " ".join(map(str, json.loads(text[start:])))
        except ValueError:
            return text
    return text


def _variables_set(text: str) -> dict[str, str]:
    """Return the variables that ARG or ENV sets; `ENV NAME value` is the old form."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    if words and "=" not in words[0]:
        return {words[0]: " ".join(words[1:])}
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _base_image(text: str) -> str:
    """Return the image that FROM names."""
    return next((word for word in text.split() if not word.startswith("--")), "")


def _sources(text: str) -> list[str]:
    words = [word for word in re.split(r"[\s,\[\]\"']+", text) if word and not word.startswith("--")]
    return words[:-1] or words


def _directive_risks(text: str) -> Iterator[tuple[int, ContainerRisk]]:
    """Refuse a custom syntax image: it is a program of its own that would run the build."""
    for number, builder in _dockerfile_syntax_images(text):
        if not builder.startswith(("docker/dockerfile:", "docker/dockerfile@")):
            yield number, ContainerRisk.REMOTE


def _dockerfile_syntax_images(text: str) -> Iterator[tuple[int, str]]:
    """Yield the images of `# syntax=` directives, with their line numbers."""
    for number, line in enumerate(text.splitlines(), 1):
        directive = _DIRECTIVE.match(line.strip())
        if directive is None:
            return
        if directive[1].lower() == "syntax":
            yield number, directive[2]


def _parse_dockerfile_instructions(text: str) -> Iterator[DockerfileInstruction]:
    escape = "`" if re.match(r"(?:#.*\n)*#\s*escape\s*=\s*`", text, re.IGNORECASE) else "\\"
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        logical_line = line.strip()
        while logical_line.endswith(escape):
            _, following = next(lines, (0, ""))
            if following.lstrip().startswith("#"):
                continue
            logical_line = logical_line[:-1] + " " + following.strip()
        for _, name in _HEREDOC.findall(logical_line):
            for _, body in lines:
                if body.strip() == name:
                    break
                logical_line += "\n" + body
        word, _, rest = logical_line.replace("\t", " ").partition(" ")
        yield DockerfileInstruction(number, word.upper(), rest.strip())


_SIMPLE_IMAGE_NAME = re.compile(r"[A-Za-z0-9][\w.:/@-]{0,250}")
_FROM_OPTION = re.compile(r"(?:^--|,|=)from=[\"']?([^\s,\"']+)", re.IGNORECASE)


async def explain_missing_project_images(engine: ContainerEngine, files: Mapping[str, str]) -> str:
    """Say which images are missing and how to pull them; empty if none is missing."""
    missing = [image for image in dict.fromkeys(_needed_images(files)) if not await _is_present(engine, image)]
    if not missing:
        return ""
    names = join_names_as_text([sanitize_line(image, 100) for image in missing])
    pull_commands = [f"`{engine.name} pull {image}`" for image in missing if _is_simple_name(image)]
    problem = (
        f"The images {names} are missing on this machine"
        if missing[1:]
        else f"The image {names} is missing on this machine"
    )
    remedy = f"Run {join_names_as_text(pull_commands)} yourself" if pull_commands else "Use simple image names"
    return f"{problem}, and Roundtable does not download images. {remedy}, then run the project again."


async def _is_present(engine: ContainerEngine, image: str) -> bool:
    return _is_simple_name(image) and (await engine.run_command(("image", "inspect", image))).code == 0


def _is_simple_name(image: str) -> bool:
    return _SIMPLE_IMAGE_NAME.fullmatch(image) is not None


def _needed_images(files: Mapping[str, str]) -> Iterator[str]:
    """Yield the images needed: a compose file may build any Dockerfile; without one, only the Dockerfile at the root
    counts."""
    compose = find_project_compose_file(files)
    if compose:
        yield from ComposeNames.read(files[compose]).images
    for path in files:
        if path == "Dockerfile" or (compose and _is_dockerfile(path)):
            yield from _dockerfile_images(files[path])


def _dockerfile_images(text: str) -> Iterator[str]:
    """Yield the images a Dockerfile starts from, copies from or is built by, except its own stages."""
    yield from (image for _, image in _dockerfile_syntax_images(text))
    stages = ["scratch"]
    stage_number = 0
    for instruction in _parse_dockerfile_instructions(text):
        word, rest = instruction.word, instruction.text
        if word == "ONBUILD":
            word, _, rest = rest.partition(" ")
        words = rest.split()
        options = [word for word in words if word.startswith("--")]
        if word.upper() == "FROM":
            image, *named = [word for word in words if word not in options] or [""]
            if image.lower() not in stages:
                yield image
            stages += [str(stage_number), *(name.lower() for name in named[1:])]
            stage_number += 1
        elif word.upper() in ("COPY", "ADD", "RUN"):
            images = [image for option in options for image in _FROM_OPTION.findall(option)]
            yield from (image for image in images if image.lower() not in stages)
