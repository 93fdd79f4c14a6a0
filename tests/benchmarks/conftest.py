"""The tests of benchmarks/ are for `make test-all`, but for a row of each table of the paper."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents and item.path.name != "test_published.py":
            item.add_marker(pytest.mark.slow)
