"""Ways to explore, for any algorithm that they fit."""
