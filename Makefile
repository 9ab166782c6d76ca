VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
NATIVE := src/dressage/native
LIBRARY := $(NATIVE)/_native.so
export DRESSAGE_RUNS ?= runs

.PHONY: setup demo test lint types test-learning test-crash test-conformance test-native regress bench-faults bench-faults-generate docs clean

setup: $(LIBRARY)

$(STAMP): pyproject.toml setup.py constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.3" -c constraints.txt
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet -c constraints.txt --build-constraint constraints.txt -e ".[all]" --group test --group lint --group docs
	touch $@

# The installation builds it too; this follows changes of the C code. Without a compiler all but the
# tests of the native engine go on, on torch.
$(LIBRARY): $(STAMP) $(NATIVE)/build.py $(NATIVE)/c $(wildcard $(NATIVE)/c/*)
	-$(BIN)/python -m dressage.native.build

demo: $(LIBRARY)
	$(BIN)/dressage train CartPole-v1
	$(BIN)/dressage diagnose @last
	$(BIN)/dressage train CartPole-v1 lr=0.05 env_steps=50_000
	$(BIN)/dressage diagnose @last

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

test: lint types $(LIBRARY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -m "not learning and not crash and not long_native and not long_conformance"

test-learning: $(LIBRARY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -m learning

test-crash: $(LIBRARY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -m crash

test-conformance: $(LIBRARY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -m long_conformance

test-native: $(LIBRARY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 tests/native -m long_native

# Short trainings against a stored baseline: has a change slowed convergence?
regress: $(LIBRARY)
	$(BIN)/dressage regress --baseline benchmarks/regression

# The diagnosis on the labelled runs in the repo: which faults hurt, and how often it is right.
bench-faults: $(STAMP)
	$(BIN)/python -m benchmarks.faults admit > /dev/null
	$(BIN)/python -m benchmarks.faults score

# One shard of labelled runs, about twenty minutes of one core; goes on where the last one ended.
bench-faults-generate: $(LIBRARY)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.faults generate --minutes 20

docs: $(STAMP)
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build dist site *.egg-info $(LIBRARY)
