"""Real source files that are on every machine: the standard library, installed packages, headers, examples."""

from __future__ import annotations

import os
import site
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

FIXTURES = Path(__file__).parent / "sources"
NEAR = (FIXTURES, Path(sysconfig.get_path("stdlib")), *map(Path, site.getsitepackages()))
FAR = (Path("/usr/include"), Path("/usr/share"), Path("/usr/lib"))
LARGEST = 25_000


@lru_cache
def _by_suffix(roots: tuple[Path, ...]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if name not in {"site-packages", "__pycache__"})
            for name in sorted(names):
                found.setdefault(Path(name).suffix, []).append(Path(folder, name))
    return found


def files(suffix: str, most: int, roots: tuple[Path, ...] = NEAR) -> Iterator[Path]:
    """Yield files of one kind: all fixtures, and up to `most` others at even distances."""
    found = [path for path in _by_suffix(roots).get(suffix, []) if not path.name.endswith(".d.ts")]
    ours = [path for path in found if FIXTURES in path.parents]
    others = [path for path in found if FIXTURES not in path.parents]
    yield from ours
    for path in others[:: max(1, len(others) // most)][:most]:
        if path.is_file() and path.stat().st_size < LARGEST:
            yield path
