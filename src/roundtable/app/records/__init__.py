"""Stored sessions: export, comparison, recount, branches, memory and removal."""
