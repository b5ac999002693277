"""The images that a project is built from and runs: they must be on this machine, for nothing is fetched unasked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from roundtable.core.decide.ruling import listed
from roundtable.core.text.sanitize import one_line
from roundtable.workshop.sandbox.compose_file import compose_file, composed
from roundtable.workshop.sandbox.container_scan import builders, instructions, is_dockerfile
from roundtable.workshop.sandbox.engines import Engine

_PLAIN = re.compile(r"[A-Za-z0-9][\w.:/@-]{0,250}")
_TAKEN_FROM = re.compile(r"(?:^--|,|=)from=[\"']?([^\s,\"']+)", re.IGNORECASE)


async def missing_images(engine: Engine, files: Mapping[str, str]) -> str:
    """Which images are not here and how a person fetches them, in two sentences; nothing where all are."""
    missing = [it for it in dict.fromkeys(_images(files)) if not await _is_here(engine, it)]
    if not missing:
        return ""
    names = listed([one_line(it, 100) for it in missing])
    fetching = [f"`{engine.name} pull {it}`" for it in missing if _plain(it)]
    there = (
        f"The images {names} are not on this machine" if missing[1:] else f"The image {names} is not on this machine"
    )
    what_to_do = f"Run {listed(fetching)} yourself" if fetching else "Write the names plainly"
    return f"{there}, and nothing is fetched unasked. {what_to_do}, and then run it again."


async def _is_here(engine: Engine, image: str) -> bool:
    return _plain(image) and (await engine.ask(("image", "inspect", image))).code == 0


def _plain(image: str) -> bool:
    return _PLAIN.fullmatch(image) is not None


def _images(files: Mapping[str, str]) -> Iterator[str]:
    """A compose file may have any of the Dockerfiles built; without one, only that at the root is."""
    compose = compose_file(files)
    if compose:
        yield from composed(files[compose]).images
    for path in files:
        if path == "Dockerfile" or (compose and is_dockerfile(path)):
            yield from _of_dockerfile(files[path])


def _of_dockerfile(text: str) -> Iterator[str]:
    """Those it begins with, those it takes files from, and the one that is to build it; not its own stages."""
    yield from (image for _, image in builders(text))
    stages = ["scratch"]
    begun = 0
    for it in instructions(text):
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
