"""Tests of benchmarks/ are for `make test-all`, but for a row of each table of the paper and the page of validity."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
FAST = {"test_published.py", "test_validity.py"}


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents and item.path.name not in FAST:
            item.add_marker(pytest.mark.slow)
