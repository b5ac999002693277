"""The content of a live room as data: event lines, the board of seats, gates with their choices, approval by hunks."""
