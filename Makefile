# Every target sets up what it needs; `make setup` builds .venv once.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# Trials run side by side; a thread pool inside each of them only gets in the way.
export OPENBLAS_NUM_THREADS ?= 1

LOWEST := .venv-lowest

.PHONY: setup demo test test-lowest lint format docs bench clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "nearer needs Python 3.11 or newer; set PYTHON=..."'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/nearer demo

test: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal

# The oldest versions that pyproject.toml allows, on the parts that lean on them most.
LOWEST_TESTS ?= tests/embedding tests/solvers tests/formats tests/test_comparisons.py tests/test_graphs.py
test-lowest: $(LOWEST)/.ready
	$(LOWEST)/bin/python -m pytest -n 2 --dist worksteal $(LOWEST_TESTS)

$(LOWEST)/.ready: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --constraint constraints-lowest.txt --editable '.[plot,data,bench,parquet,frames]' \
		clarabel hypothesis pandas polars pytest pytest-xdist
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: setup
	$(BIN)/nearer bench convex

clean:
	rm -rf $(VENV) $(LOWEST) docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis
