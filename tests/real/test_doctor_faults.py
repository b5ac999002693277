"""`doctor --faults` with real agents installed, without a network."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

BIN = Path(__file__).parent.parent.parent / "build" / "agents" / "node_modules" / ".bin"
NAMES = ("claude", "codex")


def test_doctor_faults_finds_and_passes_real_agents(tmp_path: Path) -> None:
    interfaces = [name for _, name in socket.if_nameindex() if name != "lo"]
    if interfaces or not BIN.is_dir():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("`make test-real` runs this in a network of its own")
    (tmp_path / "bin").mkdir()
    for name in NAMES:
        (tmp_path / "bin" / name).symlink_to(BIN / name)
    environ = {"PATH": f"{tmp_path / 'bin'}:/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "roundtable", "doctor", "--faults", "--json"]
    completed = subprocess.run(
        command, env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=400, check=False
    )
    report = json.loads(completed.stdout)
    assert [finding for finding in report["findings"] if not finding["passed"]] == []
    assert {f"cli:{name}" for name in NAMES} < {finding["voice"] for finding in report["findings"]}
    assert completed.returncode == 0
