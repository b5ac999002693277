"""Real source files that are on every machine: the standard library, installed packages, headers, examples."""

from __future__ import annotations

import os
import site
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

FIXTURES = Path(__file__).parent / "sources"
LOCAL_ROOTS = (FIXTURES, Path(sysconfig.get_path("stdlib")), *map(Path, site.getsitepackages()))
SYSTEM_ROOTS = (Path("/usr/include"), Path("/usr/share"), Path("/usr/lib"))
MAX_BYTES = 25_000


@lru_cache
def _by_suffix(roots: tuple[Path, ...]) -> dict[str, list[Path]]:
    paths: dict[str, list[Path]] = {}
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if name not in {"site-packages", "__pycache__"})
            for name in sorted(names):
                paths.setdefault(Path(name).suffix, []).append(Path(folder, name))
    return paths


def source_files(suffix: str, most: int, roots: tuple[Path, ...] = LOCAL_ROOTS) -> Iterator[Path]:
    """Yield files of one kind: all fixtures, and up to `most` others at even distances."""
    paths = [path for path in _by_suffix(roots).get(suffix, []) if not path.name.endswith(".d.ts")]
    own_paths = [path for path in paths if FIXTURES in path.parents]
    others = [path for path in paths if FIXTURES not in path.parents]
    yield from own_paths
    for path in others[:: max(1, len(others) // most)][:most]:
        if path.is_file() and path.stat().st_size < MAX_BYTES:
            yield path
