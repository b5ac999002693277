"""The person's settings: places, config files, keys."""
