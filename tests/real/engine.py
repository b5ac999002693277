"""A Docker engine of our own, by hand on a private socket and without a network: the machine's own is not touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

_PATIENCE = 60.0


@contextmanager
def docker_engine() -> Generator[str]:
    """The address of an engine that answers, and that is ended with all it holds."""
    program = shutil.which("dockerd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if program is None or os.getuid() != 0:
        pytest.skip("A Docker engine is started by hand: this needs docker.io and root.")
    with TemporaryDirectory(prefix="engine-") as folder:
        address = f"unix://{folder}/docker.sock"
        private = ("--data-root", f"{folder}/data", "--exec-root", f"{folder}/run", "--pidfile", f"{folder}/pid")
        apart = ("--iptables=false", "--ip6tables=false", "--bridge=none", "--host", address)
        with Path(folder, "log").open("w") as log:
            engine = subprocess.Popen([program, *private, *apart], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            _until_it_answers(engine, address, Path(folder, "log"))
            yield address
        finally:
            engine.terminate()
            engine.wait(_PATIENCE)


def shell_image(address: str, folder: Path) -> str:
    """An image with a shell in it and nothing else, made of a static program of this machine."""
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("An image is made of busybox: `apt install busybox-static`.")
    (folder / "bin").mkdir()
    shutil.copy(busybox, folder / "bin" / "busybox")
    for name in ("sh", "echo", "cat", "sleep", "ls"):
        (folder / "bin" / name).symlink_to("busybox")
    archive = subprocess.run(["tar", "-c", "-C", str(folder), "."], capture_output=True, check=True).stdout
    subprocess.run(["docker", "-H", address, "import", "-", "base:1"], input=archive, capture_output=True, check=True)
    return "base:1"


def _until_it_answers(engine: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while subprocess.run(["docker", "-H", address, "version"], capture_output=True).returncode:
        assert engine.poll() is None, log.read_text()[-2000:]
        assert time.monotonic() < deadline, log.read_text()[-2000:]
        time.sleep(0.1)
