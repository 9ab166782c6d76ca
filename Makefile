VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export DRESSAGE_RUNS ?= runs

.PHONY: setup demo test lint types test-learning test-crash test-native docs clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1" -c constraints.txt
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[all]" --group test --group lint --group docs
	touch $@

demo: $(STAMP)
	$(BIN)/dressage train CartPole-v1
	$(BIN)/dressage report @last
	$(BIN)/dressage train Pendulum-v1
	$(BIN)/dressage report @last

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

test: lint types
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -m "not learning and not crash"

test-learning: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -m learning

test-crash: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -m crash

test-native: $(STAMP)
	$(BIN)/python -m dressage.native.build
	OMP_NUM_THREADS=1 DRESSAGE_TEST_NATIVE=1 $(BIN)/pytest -n 2 tests/native -m "not learning"

docs: $(STAMP)
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build dist site *.egg-info
