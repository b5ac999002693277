"""Options that several commands share, and help that shows options under headings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from roundtable.core.values import LIMIT_MINIMUMS, is_limit_in_range
from roundtable.doors.cli.completion import complete_session_names

F = TypeVar("F", bound=Callable[..., Any])

NEWEST_SESSION = "last"


class SectionOption(click.Option):
    """An option that knows the heading it stands under."""

    def __init__(self, *args: Any, heading: str = "Options", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heading = heading


class SectionCommand(click.Command):
    """A command whose help groups its options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One section per heading, in the order of their first options; what every command has comes last."""
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


def section_option(heading: str, *names: str, **kwargs: Any) -> Callable[[F], F]:
    """An option under a heading."""
    return click.option(*names, cls=SectionOption, heading=heading, **kwargs)


def limit_option(name: str, flag: str, kind: Callable[[Any], click.ParamType[Any]], **kwargs: Any) -> Callable[[F], F]:
    """An option that sets a limit; it takes what a config file may say."""
    return section_option("Limits", flag, name, type=kind(LIMIT_MINIMUMS[name]), callback=_countable, **kwargs)


def _countable(_: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A range lets infinity pass, and what is not a number at all."""
    if value is not None and not is_limit_in_range(str(param.name), value):
        raise click.BadParameter(f"{value} is not a number in the valid range.")
    return value


def session_argument(command: F) -> F:
    """The session a command is about, by argument or by `--session`; the newest of the workspace if none is named."""
    command = click.option(
        "--session",
        "named",
        metavar="SESSION",
        help="Give SESSION as an option.",
        is_eager=True,
        expose_value=False,
        callback=_keep,
    )(command)
    return click.argument("session", default="", callback=_session, shell_complete=complete_session_names)(command)


def _keep(ctx: click.Context, _: click.Parameter, session: str | None) -> None:
    ctx.meta["session"] = session or NEWEST_SESSION


def _session(ctx: click.Context, _: click.Parameter, typed: str) -> str:
    return typed or ctx.meta["session"]


def output_mode_options(command: F) -> F:
    """How the session is shown."""
    command = section_option("Output", "--plain", is_flag=True, help="Print plain lines without colours or panels.")(
        command
    )
    return section_option(
        "Output", "--json", "as_json", is_flag=True, help="Print one JSON object per event and per text delta."
    )(command)


def strict_option(command: F) -> F:
    """Whether a degraded decision is good enough."""
    return section_option("Output", "--strict", is_flag=True, help="Exit with code 4 if the decision is degraded.")(
        command
    )
