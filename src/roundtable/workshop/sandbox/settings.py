"""What a person may say about the sandbox."""

from __future__ import annotations

from typing import Literal

import msgspec


class SandboxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[sandbox]`: which one is used, and the image of a container; without one, the programs of this machine."""

    use: Literal["auto", "docker", "podman", "bubblewrap"] = "auto"
    image: str = ""
