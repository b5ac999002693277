"""What this machine offers: models, agents, sandboxes, and whether all of it works."""
