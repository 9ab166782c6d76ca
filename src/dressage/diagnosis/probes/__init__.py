"""Probes: short experiments with a run's environment and algorithm that separate causes.

Each is a function in a file of its own that returns a `ProbeResult`. `run.run_probes` runs them one
after another, each within its time limit; `about` says what each asks, and needs none of the rest.
"""
