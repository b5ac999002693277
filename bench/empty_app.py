"""The smallest program of the same command-line library: what `--help` costs at least."""

import click


@click.group()
def main() -> None:
    """An empty app."""


@main.command()
def nothing() -> None:
    """Do nothing."""
