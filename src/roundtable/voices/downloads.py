"""Downloads of large files: resumable, verified by a pinned digest, one process at a time, moved into place whole."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import IO

import httpx2

from roundtable.core.faults import Fault, FaultKind
from roundtable.voices import http_client
from roundtable.voices.http_client import load_provider_http_certificates, reject_invalid_proxy_settings

Progress = Callable[[int, int], None]
"""Called with the bytes downloaded so far and the bytes in total."""

_TIMEOUT = httpx2.Timeout(30.0, connect=10.0)
_MAX_IDLE_TRIES = 3
_PAUSE_SECONDS = 0.5


def open_weights_download_client() -> httpx2.AsyncClient:
    """Open a client that follows redirects: the files are public and pinned, and no key is sent."""
    # Compressed transfers cannot be resumed by position.
    headers = {"accept-encoding": "identity"}
    with reject_invalid_proxy_settings():
        return httpx2.AsyncClient(
            verify=load_provider_http_certificates(), follow_redirects=True, timeout=_TIMEOUT, headers=headers
        )


@asynccontextmanager
async def hold_weights_download_lock(lock: Path) -> AsyncGenerator[None, None]:
    """Wait until no other process holds the lock; the kernel releases it when its holder dies."""
    handle = _open(lock, "ab")
    try:
        while not _try_lock(handle):  # noqa: ASYNC110 (the holder is another process)
            await asyncio.sleep(0.1)
        yield
    finally:
        handle.close()


def _try_lock(handle: IO[bytes]) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open(path: Path, mode: str) -> IO[bytes]:
    return path.open(mode)


def check_disk_space_for_weights(folder: Path, needed: int) -> Fault | None:
    """Return a fault if the disk has too little room for the download."""
    free = shutil.disk_usage(folder).free
    if free >= needed:
        return None
    return Fault.of(
        FaultKind.MISSING,
        f"{folder} has {free // 2**20} MB of free space, but the download needs {needed // 2**20} MB.",
        help="Free some space, or set ROUNDTABLE_HOME to a folder with more space.",
    )


async def _compute_file_digest(path: Path) -> str:
    """Compute the sha256 of a file in a thread."""

    def work() -> str:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    return await asyncio.to_thread(work)


async def download_weights_file(
    client: httpx2.AsyncClient, url: str, target: Path, *, sha256: str, size: int, progress: Progress
) -> Fault | None:
    """Download `url` to `target`, resuming an earlier attempt; return None if the file is complete and verified."""
    part = target.with_name(target.name + ".part")
    idle = 0
    while True:
        before = _file_size(part)
        fault = await _download_once(client, url, part, size, progress)
        if fault is None:
            return await _move_into_place(part, target, sha256)
        idle = idle + 1 if _file_size(part) <= before else 0
        if not fault.retryable or idle >= _MAX_IDLE_TRIES:
            return fault
        await asyncio.sleep(_PAUSE_SECONDS * idle)


async def _move_into_place(part: Path, target: Path, sha256: str) -> Fault | None:
    if await _compute_file_digest(part) != sha256:
        os.unlink(part)
        return create_weights_digest_fault(target.name)
    os.replace(part, target)
    return None


def create_weights_digest_fault(name: str) -> Fault:
    """Return the fault of a downloaded file that differs from the pinned one."""
    return Fault.of(
        FaultKind.MALFORMED,
        f"The sha256 of {name} differs from the one in the catalog, so the file was deleted.",
        retryable=False,
        help="Try again, or use another source with --from. If the digest differs again, do not use this source.",
    )


async def _download_once(
    client: httpx2.AsyncClient, url: str, part: Path, size: int, progress: Progress
) -> Fault | None:
    """Download once; return None if all bytes are there."""
    start = _file_size(part)
    if start >= size:
        if start == size:
            return None
        os.unlink(part)
        start = 0
    headers = {"range": f"bytes={start}-"} if start else {}
    host = httpx2.URL(url).host
    try:
        async with client.stream("GET", url, headers=headers) as response:
            if response.status_code not in (200, 206):
                body = await _read_first_chunk(response)
                return http_client.classify_provider_http_response(host, response.status_code, response.headers, body)
            await _write_body(response, part, start, progress)
    except httpx2.HTTPError as error:
        return http_client.classify_provider_http_exception(host, error, began=False)
    if _file_size(part) < size:
        return Fault.of(FaultKind.TRUNCATED, f"{host} closed the connection during the download of {part.stem}.")
    return None


async def _write_body(response: httpx2.Response, part: Path, start: int, progress: Progress) -> None:
    resumed = response.headers.get("content-range", "").startswith(f"bytes {start}-")
    size_so_far = start if response.status_code == 206 and resumed else 0
    with _open(part, "ab" if size_so_far else "wb") as file:
        async with aclosing(response.aiter_raw()) as chunks:
            async for chunk in chunks:
                file.write(chunk)
                size_so_far += len(chunk)
                progress(size_so_far, 0)


async def _read_first_chunk(response: httpx2.Response) -> bytes:
    async with aclosing(response.aiter_raw()) as chunks:
        async for chunk in chunks:
            return chunk[:4096]
    return b""


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
