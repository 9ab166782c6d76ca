"""One file a rule, in folders that say what goes wrong."""
