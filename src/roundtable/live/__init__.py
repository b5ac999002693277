"""What a live room shows, without drawing: the board of seats, gates and their choices, hunk-by-hunk approval."""
