"""Proof over seeds: statistics, comparison, verification, optimisation, tuning."""
