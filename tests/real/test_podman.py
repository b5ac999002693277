"""The sandbox on a real Podman, which has no engine to start."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kits.sandbox_kit import SandboxKit

pytestmark = pytest.mark.real

SETTINGS = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
"""
"""Settings for machines where root may not raise its limits and both versions of control groups are in use."""


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place for its images that is nobody else's."""
    if shutil.which("podman") is None or shutil.which("runc") is None:
        pytest.skip("Podman is not here: `apt install podman runc`.")
    folder = tmp_path_factory.mktemp("podman")
    (folder / "containers.conf").write_text(SETTINGS)
    places = f'driver = "overlay"\ngraphroot = "{folder}/graph"\nrunroot = "{folder}/run"\n'
    (folder / "storage.conf").write_text(f"[storage]\n{places}")
    return folder


class TestPodman(SandboxKit):
    use = "podman"

    @pytest.fixture(autouse=True)
    def engine(self, storage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CONTAINERS_CONF", str(storage / "containers.conf"))
        monkeypatch.setenv("CONTAINERS_STORAGE_CONF", str(storage / "storage.conf"))

    def left_behind(self, pid: int) -> list[str]:
        listed = subprocess.run(["podman", "ps", "-a", "--format", "{{.Names}}"], capture_output=True, text=True)
        return [name for name in listed.stdout.split() if name.startswith(f"roundtable-{pid}-")]
