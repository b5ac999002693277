"""Finds the sandbox of this machine, or says why programs cannot be run here.

What a person may say about the sandbox.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds
from roundtable.workshop.sandbox.bubblewrap import BubblewrapSandbox
from roundtable.workshop.sandbox.container import ContainerSandbox
from roundtable.workshop.sandbox.engines import container_engine_variables


class SandboxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[sandbox]`: which one is used, the image of a container (without one, the programs of this machine), and the
    seconds that each of your checks may take."""

    use: Literal["auto", "docker", "podman", "bubblewrap"] = "auto"
    image: str = ""
    seconds: Annotated[float, msgspec.Meta(gt=0)] = Bounds().seconds


_ANY = "Install bubblewrap (`apt install bubblewrap`) or start Docker or Podman"
_CHOSEN = 'Have it ready, or set `use` in [sandbox] to "auto"'
_NEVER_BARE = "nothing is ever run outside a sandbox."
_ORDER = ("docker", "podman", "bubblewrap")
_found: dict[tuple[SandboxSettings, str], Sandbox] = {}
"""What was seen to work in this process, by the settings and variables that led to it: engines take a second to ask."""


async def find_sandbox(settings: SandboxSettings = SandboxSettings()) -> Sandbox | str:
    """The first that works of those the settings allow: a container where an engine answers, else bubblewrap.

    It stays the same while the process lives; where there was none, the next who asks looks again.
    """
    wanted = (settings, repr(container_engine_variables()))
    if wanted in _found:
        return _found[wanted]
    wrong: list[str] = []
    for name in _ORDER if settings.use == "auto" else (settings.use,):
        found = await (
            BubblewrapSandbox.find() if name == "bubblewrap" else ContainerSandbox.find(name, settings.image)
        )
        if not isinstance(found, str):
            _found[wanted] = found
            return found
        wrong.append(found)
    help = _ANY if settings.use == "auto" else _CHOSEN
    return f"{' '.join(wrong)} {help}; {_NEVER_BARE}"
