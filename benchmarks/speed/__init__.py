"""Speed of dressage beside its peers, interleaved on one machine.

    python -m benchmarks.speed run                          # everything, for hours on two cores
    python -m benchmarks.speed run --only solve --repeats 5
    python -m benchmarks.speed run --smoke                  # does every program work? tiny budgets
    python -m benchmarks.speed table

The speed of a machine drifts by more than what is measured here, so only ratios of runs that were
made in turn count: the programs of a family are run one after the other, round after round, and a
ratio is taken within a round; the table gives the median over rounds and the range.

`settings.py` says what is run, `programs/` has one small script a library (run in its own virtual
environment, which `venvs.py` makes), `runner.py` runs them, `table.py` reads the results.
"""
