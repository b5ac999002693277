"""The engine: runs meetings over recorded asks, with limits and a live feed."""
