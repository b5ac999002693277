"""The clerk: the one loop, recorded asks, limits and the live feed."""
