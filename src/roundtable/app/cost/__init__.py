"""Estimates the cost of a meeting before anything is spent."""
