"""Running sessions: background processes, live watching, open gates and hooks."""
