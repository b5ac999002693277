"""What a person sets: places, config files, keys."""
