"""Options that several commands share, and help that groups options under headings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from roundtable.core.values import LIMIT_MAXIMUM, LIMIT_MINIMUMS, Limits
from roundtable.doors.cli.completion import shell_complete_session_names

F = TypeVar("F", bound=Callable[..., Any])

NEWEST_SESSION = "last"


class SectionOption(click.Option):
    """An option that is listed under a heading in the help."""

    def __init__(self, *args: Any, heading: str = "Options", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heading = heading


class SectionCommand(click.Command):
    """A command whose help groups options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print one section per heading, in the order of the first options; general options come last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                heading = param.heading if isinstance(param, SectionOption) else "Options"
                sections.setdefault(heading, []).append(record)
        sections["Options"] = sections.pop("Options", [])
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def cli_section_option(heading: str, *names: str, **kwargs: Any) -> Callable[[F], F]:
    """Declare an option under a heading."""
    return click.option(*names, cls=SectionOption, heading=heading, **kwargs)


def cli_limit_option(
    name: str, flag: str, kind: Callable[[Any], click.ParamType[Any]], **kwargs: Any
) -> Callable[[F], F]:
    """Declare an option that sets a limit, with the range that the config allows."""
    return cli_section_option("Limits", flag, name, type=kind(LIMIT_MINIMUMS[name]), callback=_check_limit, **kwargs)


def _check_limit(_: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Reject infinity and NaN, which a click range accepts."""
    if value is not None and not Limits.is_in_range(str(param.name), value):
        raise click.BadParameter(
            f"{value} is not a number from {LIMIT_MINIMUMS[str(param.name)]} to {LIMIT_MAXIMUM:.0f}."
        )
    return value


def cli_session_argument(command: F) -> F:
    """Add SESSION as an argument and as `--session`; the default is the newest session of the workspace."""
    command = click.option(
        "--session",
        "named",
        metavar="SESSION",
        help="Same as the argument SESSION.",
        is_eager=True,
        expose_value=False,
        callback=_remember_session_option,
    )(command)
    return click.argument(
        "session", default="", callback=_resolve_session, shell_complete=shell_complete_session_names
    )(command)


def _remember_session_option(ctx: click.Context, _: click.Parameter, session: str | None) -> None:
    ctx.meta["session"] = session or NEWEST_SESSION


def _resolve_session(ctx: click.Context, _: click.Parameter, typed: str) -> str:
    return typed or ctx.meta["session"]


def cli_output_mode_options(command: F) -> F:
    """Add the options that choose how a session is displayed."""
    command = cli_section_option(
        "Output", "--plain", is_flag=True, help="Print plain lines without colours or panels."
    )(command)
    return cli_section_option(
        "Output",
        "--json",
        "as_json",
        is_flag=True,
        help="Print one JSON object per event and per piece of streamed text.",
    )(command)


def cli_strict_option(command: F) -> F:
    """Add `--strict`, which makes a degraded decision fail."""
    return cli_section_option(
        "Output",
        "--strict",
        is_flag=True,
        help="Exit with code 4 if the decision is degraded: a seat is missing or a warning applies.",
    )(command)
