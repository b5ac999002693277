"""Embedded models for user interfaces: what is installed, what can be downloaded, which is the default."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import msgspec

from roundtable.app.settings.places import Places
from roundtable.core.faults import Fault, FaultKind, NotFound, RoundtableError
from roundtable.voices import models as shelf


class ModelState(msgspec.Struct, frozen=True):
    """One model in a list; sizes in bytes."""

    name: str
    installed: bool
    default: bool
    title: str = ""
    about: str = ""
    licence: str = ""
    size: int = 0
    memory: int = 0
    path: str = ""
    sources: tuple[str, ...] = ()


def machine_has_model_runtime() -> bool:
    """Return whether the extra that runs embedded models is installed."""
    return find_spec("xllamacpp") is not None


def list_machine_models(places: Places) -> list[ModelState]:
    """Return the models of the catalog, the least useful first, then the person's own files; not all are installed."""
    installed = shelf.find_embedded_model_files(places.models)
    default = shelf.find_default_embedded_model(places.models) or ""
    states = [
        _describe_catalog_model(model, installed.get(name), name == default)
        for name, model in shelf.load_embedded_model_catalog().items()
    ]
    known = {state.name for state in states}
    states += [
        _describe_own_model(name, path, name == default) for name, path in installed.items() if name not in known
    ]
    if default and default not in {state.name for state in states}:
        states.append(_describe_own_model(default, Path(default), True))
    return states


def _describe_catalog_model(model: shelf.EmbeddedModel, path: Path | None, default: bool) -> ModelState:
    return ModelState(
        model.name,
        path is not None,
        default,
        model.title,
        model.about,
        model.licence,
        model.size,
        model.memory,
        str(path or ""),
        tuple(source.name for source in model.sources),
    )


def _describe_own_model(name: str, path: Path, default: bool) -> ModelState:
    return ModelState(name, True, default, about="Your own file.", size=path.stat().st_size, path=str(path))


async def install_machine_model(
    places: Places, name: str, progress: Callable[[int, int], None], source: str = ""
) -> Path:
    """Install a model of the catalog: download its weights, resuming an earlier download; do nothing if installed."""
    return _raise_fault(await shelf.download_embedded_model(name, places.models, progress, source=source))


def set_default_machine_model(places: Places, name: str) -> Path:
    """Make a model the default."""
    return _raise_fault(shelf.choose_default_embedded_model(name, places.models))


def _raise_fault(result: Path | Fault) -> Path:
    """Return the path, or raise the fault as an error."""
    if isinstance(result, Path):
        return result
    kind = NotFound if result.kind is FaultKind.MISSING else RoundtableError
    raise kind(result.message, result.help)


def find_default_machine_model(places: Places) -> ModelState | None:
    """Return the default model, if one is installed."""
    return next((state for state in list_machine_models(places) if state.default), None)
