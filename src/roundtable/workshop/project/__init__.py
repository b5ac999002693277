"""A whole project: its programs, container images and previews are planned, run and delivered."""
