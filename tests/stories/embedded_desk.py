"""Opens a desk in a temporary home with the installed embedded models of this person."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from roundtable.app.desk import Places, Roundtable


@asynccontextmanager
async def open_desk_with_model(model: str, folder: Path) -> AsyncGenerator[Roundtable]:
    """Open a desk; fail if the model is not installed."""
    models = Places.of_this_person().models
    places = Places(folder / "home", folder / "home")
    places.data.mkdir()
    places.models.symlink_to(models)
    async with await Roundtable.open(folder, places) as desk:
        assert any(entry.name == model and entry.installed for entry in desk.setup.list_models()), (
            f"roundtable models get {model}"
        )
        yield desk
