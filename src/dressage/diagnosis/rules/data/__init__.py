"""Rules about what goes wrong here."""
