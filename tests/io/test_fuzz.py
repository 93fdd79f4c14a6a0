"""A few hundred of the files of fuzz.py; NEARER_FUZZ_SECONDS=300 goes on for five minutes."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")
from helpers import fuzz


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(fuzz.files, st.sampled_from(fuzz.NAMES), fuzz.options)
def test_any_file_gives_answers_or_a_sentence(file, name, reading):
    answers = fuzz.check(file, name, reading)
    assert answers is None or len(answers) > 0


fitting = st.one_of(fuzz.text_files(), fuzz.json_files(), fuzz.parquet_files())


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(fitting, fuzz.options)
def test_every_row_is_read_or_counted(file, reading):
    answers = fuzz.check(file, "answers", reading | {"skip_bad": True})
    assert answers is None or answers.report.n_bad == len(answers.report.bad_rows)


@pytest.mark.skipif("NEARER_FUZZ_SECONDS" not in os.environ, reason="NEARER_FUZZ_SECONDS is not set")
def test_for_long():
    n_files, n_answers, n_counted = fuzz.fuzz(float(os.environ["NEARER_FUZZ_SECONDS"]))
    assert 0 < n_counted < n_answers < n_files
