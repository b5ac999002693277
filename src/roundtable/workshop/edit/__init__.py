"""Turns a changeset into a checked draft, rehearses it, writes it to the workspace through a journal, and undoes it."""
