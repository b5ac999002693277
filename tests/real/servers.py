"""Real servers as children: llama.cpp's own, and a LiteLLM proxy in front of it."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import string
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from roundtable.voices import llama_server

LITELLM = Path("build/litellm/bin/litellm")
SLOTS = 4
MUTE: dict[str, Any] = {"grammar": 'root ::= " "', "stop_sequences": list(string.printable)}
"""Leaves llama.cpp nothing to say; it takes the grammar in two dialects, and the stops in the third."""


@dataclass(frozen=True)
class Served:
    """The address of a server and the key it requires."""

    url: str
    key: str

    def busy(self) -> list[bool]:
        """Which slots of a llama.cpp server are at work."""
        headers = {"authorization": f"Bearer {self.key}"}
        answer = httpx2.get(f"{self.url}/slots", headers=headers, trust_env=False, verify=False)
        return [slot["is_processing"] for slot in answer.json()]


@contextmanager
def llama(model: Path, context: int = 2048) -> Generator[Served, None, None]:
    """A model behind llama.cpp's server, which ends with its standard input."""
    child = subprocess.Popen(
        [sys.executable, "-P", llama_server.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_clean(OMP_WAIT_POLICY="passive"),
    )
    assert child.stdin is not None
    assert child.stdout is not None
    key = secrets.token_urlsafe(16)
    settings = llama_server.ServerSettings(model=str(model), key=key, slots=SLOTS, context=context, parent=os.getpid())
    try:
        child.stdin.write(json.dumps(settings).encode() + b"\n")
        child.stdin.flush()
        yield Served(json.loads(child.stdout.readline())["url"], key)
    finally:
        child.kill()
        child.stdin.close()
        child.stdout.close()
        child.wait()


@contextmanager
def silence() -> Generator[Served, None, None]:
    """A server whose every answer is blank, for proxies that let nothing through that would silence a model."""
    child = subprocess.Popen(
        [sys.executable, "-m", "roundtable.voices.fault_server", "--behave", "blank"],
        stdout=subprocess.PIPE,
        env=_clean(),
    )
    assert child.stdout is not None
    try:
        yield Served(child.stdout.readline().decode().strip().removesuffix("/v1"), "none")
    finally:
        child.kill()
        child.stdout.close()
        child.wait()


@contextmanager
def litellm(models: dict[str, Served], folder: Path) -> Generator[Served, None, None]:
    """The proxy, with a home of its own and nothing of ours in its environment."""
    if not LITELLM.exists():
        pytest.skip("LiteLLM is not installed; `make test-real` installs it.")
    served = Served(f"http://127.0.0.1:{_free_port()}", f"sk-{secrets.token_hex(8)}")
    config = folder / "litellm.yaml"
    config.write_text(json.dumps(_config(models, served.key)))
    with (folder / "litellm.log").open("wb") as log:
        child = subprocess.Popen(
            [LITELLM, "--config", config, "--host", "127.0.0.1", "--port", served.url.rpartition(":")[2]],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=_clean(HOME=str(folder), LITELLM_LOCAL_MODEL_COST_MAP="True"),
            start_new_session=True,
        )
    try:
        _wait_for(f"{served.url}/health/liveliness", child)
        yield served
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _config(models: dict[str, Served], key: str) -> dict[str, Any]:
    def params(behind: Served) -> dict[str, str]:
        return {"model": "openai/any", "api_base": f"{behind.url}/v1", "api_key": behind.key}

    return {
        "model_list": [{"model_name": name, "litellm_params": params(behind)} for name, behind in models.items()],
        "litellm_settings": {"drop_params": True, "telemetry": False},
        "general_settings": {"master_key": key},
    }


def _clean(**more: str) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), **more}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(url: str, child: subprocess.Popen[bytes], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert child.poll() is None, "the proxy ended by itself"
        try:
            if httpx2.get(url, trust_env=False, verify=False).status_code == 200:
                return
        except httpx2.HTTPError:
            pass
        time.sleep(0.2)
    raise AssertionError("the proxy did not come up")
