"""The peers' own environment, made once; without it there is nothing to compare with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.processes import PEERS, BenchError

REQUIREMENTS = (
    "langgraph>=1.2",
    "langchain-openai>=1.7",
    "autogen-agentchat>=0.7.5",
    "autogen-ext[openai]>=0.7.5",
    "llm-council-core>=0.53",
)


def install_peers() -> Path:
    """The Python of the peers' environment, which is made first if need be."""
    python = PEERS / "bin" / "python"
    stamp = PEERS / "installed.txt"
    requirements = "\n".join(REQUIREMENTS)
    if stamp.exists() and stamp.read_text() == requirements:
        return python
    print("Installing LangGraph, AutoGen and llm-council-core into build/bench-peers …", flush=True)
    _run([sys.executable, "-m", "venv", str(PEERS)])
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS])
    stamp.write_text(requirements)
    return python


def versions(python: Path) -> dict[str, str]:
    """Which versions are compared."""
    names = [requirement.partition(">")[0].partition("[")[0] for requirement in REQUIREMENTS]
    code = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {names!r}}}))"
    return json.loads(_run([str(python), "-c", code]))


def _run(argv: list[str]) -> str:
    process = subprocess.run(argv, capture_output=True, text=True)
    if process.returncode:
        last = (process.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BenchError(f"The peers cannot be installed, and the bench needs them: {last}")
    return process.stdout
