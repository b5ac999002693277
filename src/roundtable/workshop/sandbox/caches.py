"""What build tools have fetched before: without a network, a project with dependencies needs it to be built."""

from __future__ import annotations

import os
from pathlib import Path


def caches(tool: str, home: str) -> dict[str, str]:
    """Folders of published packages, by where a tool looks for them in this home; no clones, settings or keys."""
    if tool != "cargo":
        return {}
    fetched = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "registry"
    return {os.path.join(home, ".cargo/registry"): str(fetched)} if fetched.is_dir() else {}
