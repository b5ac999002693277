"""The child process of an embedded model: the server of llama.cpp from the xllamacpp wheel, run as a script.

It reads its settings as one JSON line from standard input, writes its address as one JSON line to standard output, and
exits when standard input closes, so it cannot outlive its parent. It imports nothing of Roundtable, because it is run
by its path.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import threading
from typing import Any, TypedDict

_PR_SET_PDEATHSIG = 1


class ServerSettings(TypedDict):
    """The settings that the parent sends."""

    model: str
    key: str
    slots: int
    context: int
    parent: int


def _serve_embedded_model() -> None:
    """Load the model, report its address, and serve until the parent is gone."""
    settings: ServerSettings = json.loads(sys.stdin.buffer.readline())
    _exit_with_parent(settings["parent"])
    report = os.fdopen(os.dup(1), "w")
    # llama.cpp prints to stdout: while loading, the parent reads it to explain a failure; later it is discarded.
    os.dup2(2, 1)
    watcher = threading.Thread(target=_exit_when_stdin_closes, daemon=True)
    watcher.start()
    server = _start_server(settings)
    report.write(json.dumps({"url": server.listening_address}) + "\n")
    report.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    watcher.join()


def _exit_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process with its parent; standard input would close only a little later."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _exit_when_stdin_closes() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def _start_server(settings: ServerSettings) -> Any:
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [settings["key"]]
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["context"] * settings["slots"]
    # More threads are slower on busy cores; only the batches of a prompt benefit from a second one.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = min(2, os.cpu_count() or 1)
    # A cancelled call is noticed between two batches: small batches free the slot in seconds without being slower.
    params.n_batch = 128
    params.n_ubatch = 128
    params.n_threads_http = settings["slots"] + 2
    params.n_gpu_layers = 0
    params.use_jinja = True
    params.warmup = False
    params.offline = True
    params.ui = False
    params.cors_origins = ""
    params.endpoint_slots = True
    params.cache_ram_mib = 0
    params.n_ctx_checkpoints = 0
    return xllamacpp.Server(params)


if __name__ == "__main__":
    _serve_embedded_model()
