"""The doors: they show and ask, and decide nothing."""
