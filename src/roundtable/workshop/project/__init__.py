"""A whole project: its map, how it is run, and how it is handed over."""
