"""What build tools have fetched before: without a network, a project with dependencies needs it to be built."""

from __future__ import annotations

import os
from pathlib import Path


def caches(tool: str, home: str) -> dict[str, str]:
    """Folders of fetched packages, by where a tool looks for them if this is its home; no settings and no keys."""
    return {os.path.join(home, path): str(place) for path, place in _of(tool).items() if place.is_dir()}


def _of(tool: str) -> dict[str, Path]:
    match tool:
        case "cargo":
            own = _told("CARGO_HOME", ".cargo")
            return {f".cargo/{it}": own / it for it in ("registry", "git")}
        case "go":
            return {"go/pkg/mod": _told("GOMODCACHE", str(_told("GOPATH", "go") / "pkg/mod"))}
        case "mvn":
            return {".m2/repository": _told("", ".m2/repository")}
        case _:
            return {}


def _told(variable: str, usual: str) -> Path:
    """The first place that a variable names, else the usual one in the person's home."""
    return Path.home() / (os.environ.get(variable, "").partition(os.pathsep)[0] or usual)
