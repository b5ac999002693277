"""Voices that speak through agent command lines; a data file describes each agent, and one runner starts them all."""
