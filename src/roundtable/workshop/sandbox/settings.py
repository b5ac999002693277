"""What a person may say about the sandbox."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from roundtable.core.sandbox import Bounds


class SandboxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[sandbox]`: which one is used, the image of a container (without one, the programs of this machine), and the
    seconds that each of your checks may take."""

    use: Literal["auto", "docker", "podman", "bubblewrap"] = "auto"
    image: str = ""
    seconds: Annotated[float, msgspec.Meta(gt=0)] = Bounds().seconds
