"""Rules about saved weights and optimizer state."""
