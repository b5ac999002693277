"""Voices that answer for seats: provider APIs, agent command lines, embedded models with their weights, scripts."""
