"""Hostile input for every reader of untrusted text: `make fuzz` runs it for minutes, `make test` for seconds."""
