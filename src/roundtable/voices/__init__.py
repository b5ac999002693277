"""The speakers: API dialects, embedded models, scripts."""
