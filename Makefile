# Every target sets up what it needs; `make setup` builds .venv once.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# Trials run side by side; a thread pool inside each of them only gets in the way.
export OPENBLAS_NUM_THREADS ?= 1

# What Python compiles at the first import is kept; pip compiles nothing, of which most would never be imported.
unexport PYTHONDONTWRITEBYTECODE
PIP_INSTALL := -m pip install --quiet --no-compile

LOWEST := .venv-lowest
DIST   := .venv-dist

.PHONY: setup setup-lowest demo test test-all test-lowest lint format docs dist stability reproduce bench validity clean

setup: $(READY)

setup-lowest: $(LOWEST)/.ready

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "nearer needs Python 3.11 or newer; set PYTHON=..."'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_INSTALL) --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/nearer demo

# Python's own tracebacks: pytest's parse all of scikit-learn's checks for each one that is expected to fail.
test: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal --tb=native

# With the tests that are marked slow: the same claims at larger sizes.
test-all: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal --tb=native -m ''

# The oldest versions that pyproject.toml allows, on the parts that lean on them most. What they compile is kept apart:
# two versions of numba throw away each other's loops.
LOWEST_TESTS ?= tests/embedding tests/sampling tests/optimize tests/io tests/data
test-lowest: setup-lowest
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/numba $(LOWEST)/bin/python -m pytest -n 2 --dist worksteal $(LOWEST_TESTS)

$(LOWEST)/.ready: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python $(PIP_INSTALL) --constraint constraints-lowest.txt --editable '.[data,bench,parquet,frames]' \
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
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The record of public names, commands and files in docs/stable: what docs/stability.md promises.
stability: setup
	$(BIN)/python docs/_extensions/stability.py

# Wheel and sdist, checked; the wheel then runs in an environment that has nothing else.
dist: setup
	rm -rf dist $(DIST)
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/python $(PIP_INSTALL) --constraint constraints.txt "$$(ls $(CURDIR)/dist/*.whl)"
	cd $(DIST) && bin/nearer demo

# The tables and figures of the paper: about an hour on two cores; what is finished is kept in results/.
reproduce: setup
	$(BIN)/python -m benchmarks reproduce synthetic
	$(BIN)/python -m benchmarks reproduce music

# One of the measurements, such as `make bench BENCH=features`, which writes the tables of docs/features.md, or
# `make bench BENCH="speed --no-peer"`; `python -m benchmarks --help` lists them.
BENCH ?= convex
bench: setup
	$(BIN)/python -m benchmarks $(BENCH)

# How often each statistical statement is right: hours at first, then only what is missing; writes docs/validity.md.
validity: setup
	$(BIN)/python -m benchmarks.validity --jobs 2

clean:
	rm -rf $(VENV) $(LOWEST) $(DIST) dist docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis
