"""Finds the sandbox of this machine, or says why programs cannot be run here."""

from __future__ import annotations

from roundtable.core.ports import Sandbox
from roundtable.workshop.sandbox.bubblewrap import Bubblewrap
from roundtable.workshop.sandbox.container import Container
from roundtable.workshop.sandbox.settings import SandboxSettings

HELP = "Install bubblewrap (`apt install bubblewrap`) or start Docker or Podman; nothing is ever run outside a sandbox."
_ORDER = ("docker", "podman", "bubblewrap")


async def find_sandbox(settings: SandboxSettings = SandboxSettings()) -> Sandbox | str:
    """The first that works of those the settings allow: a container where an engine answers, else bubblewrap."""
    wrong: list[str] = []
    for name in _ORDER if settings.use == "auto" else (settings.use,):
        found = await (Bubblewrap.find() if name == "bubblewrap" else Container.find(name, settings.image))
        if not isinstance(found, str):
            return found
        wrong.append(found)
    return " ".join((*wrong, HELP))
