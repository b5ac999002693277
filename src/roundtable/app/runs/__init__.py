"""A session while it runs: in the background, watched from elsewhere, its gates, the hooks it calls."""
