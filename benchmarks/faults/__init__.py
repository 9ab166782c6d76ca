"""Labelled runs that score `dressage diagnose`: faults, healthy runs, harmless variations.

    python -m benchmarks.faults generate --minutes 20   # resumes; one process, one thread
    python -m benchmarks.faults sb3 --minutes 20        # the same for Stable-Baselines3
    python -m benchmarks.faults sb3 --recorded          # with dressage.sb3.Recorder in them
    python -m benchmarks.faults admit                   # which faults hurt, as a table
    python -m benchmarks.faults score                   # how often the diagnosis is right
    python -m benchmarks.faults show                    # what is stored

`settings.py` has the clean settings and their split, `faults.py` what is put wrong, `benign.py`
what looks odd and does no harm, `accepted.py` which answers count as right. `plan.py` orders the
jobs, `train.py` makes one run of a job, `store.py` keeps it in little space, `admit.py` compares
each fault with its clean twin. `sb3_runs.py` does the same with Stable-Baselines3.

A fault lies where a person's would: in the settings, in the environment (wrappers of
`injections/`), or in code (patches there). The stored config shows the first alone.
"""
