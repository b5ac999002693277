"""Turns a changeset into a checked draft, finds tests it loses or changes, and rehearses, writes or undoes it."""
