"""The state of this machine: models, agents, sandboxes, keys, and whether all of it works."""
