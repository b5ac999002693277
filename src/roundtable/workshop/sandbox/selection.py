"""Finds a working sandbox on this machine by the settings `[sandbox]`, or says why programs cannot be run."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from roundtable.core.ports import Sandbox
from roundtable.core.sandbox import Bounds
from roundtable.workshop.sandbox.bubblewrap import BubblewrapSandbox
from roundtable.workshop.sandbox.container import ContainerSandbox
from roundtable.workshop.sandbox.engines import ContainerEngine, sandbox_container_engine_variables


class SandboxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings `[sandbox]`: which sandbox to use, the image of a container (empty: this machine's programs), the
    time limit in seconds of each check, and whether to refuse a sandbox that cannot enforce all limits."""

    use: Literal["auto", "docker", "podman", "bubblewrap"] = "auto"
    image: str = ""
    require: Literal["isolated", "enforced"] = "isolated"
    seconds: Annotated[float, msgspec.Meta(gt=0)] = Bounds().seconds


_INSTALL_HELP = "Install bubblewrap (`apt install bubblewrap`) or start Docker or Podman"
_CHOICE_HELP = 'Make it available, or set `use` in [sandbox] to "auto"'
_ENFORCED_HELP = 'Start Docker or Podman, or set `require` to "isolated"'
_NO_SANDBOX = "programs are never run without a sandbox."
_ENGINES = ("docker", "podman")
_found: dict[tuple[SandboxSettings, tuple[str, ...], str], Sandbox] = {}
"""Sandboxes found by this process, by settings and environment: asking an engine takes a second."""


async def find_sandbox(settings: SandboxSettings = SandboxSettings(), private: tuple[str, ...] = ()) -> Sandbox | str:
    """Return the first working sandbox the settings allow: a container where an engine answers, else bubblewrap.

    `private` are folders that no program sees. A sandbox that was found is kept for the life of the process; a failed
    search is repeated at the next call.
    """
    key = (settings, private, repr(sandbox_container_engine_variables()))
    if key in _found:
        return _found[key]
    reasons: list[str] = []
    help = _INSTALL_HELP if settings.use == "auto" else _CHOICE_HELP
    for name in (*_ENGINES, "bubblewrap") if settings.use == "auto" else (settings.use,):
        sandbox = await (
            BubblewrapSandbox.find(private)
            if name == "bubblewrap"
            else ContainerSandbox.find(name, settings.image, private)
        )
        if isinstance(sandbox, str):
            reasons.append(sandbox)
        elif settings.require == "enforced" and sandbox.unenforced:
            limits = ", ".join(sandbox.unenforced)
            reasons = [f'`require` in [sandbox] is "enforced", but {name} cannot enforce these limits here: {limits}.']
            help = _ENFORCED_HELP
        else:
            _found[key] = sandbox
            return sandbox
    return f"{' '.join(reasons)} {help}; {_NO_SANDBOX}"


async def find_sandbox_container_engine(settings: SandboxSettings) -> ContainerEngine | str:
    """Return the first allowed engine that answers, or why there is none."""
    if settings.use == "bubblewrap":
        return "Containers are disabled: `use` in [sandbox] is bubblewrap."
    problems: list[str] = []
    for name in _ENGINES if settings.use == "auto" else (settings.use,):
        engine = await ContainerEngine.find(name)
        if isinstance(engine, ContainerEngine):
            await engine.remove_orphans()
            return engine
        problems.append(engine)
    return " ".join(problems)
