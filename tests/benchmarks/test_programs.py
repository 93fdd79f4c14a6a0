from pathlib import Path

import nearer
from benchmarks.programs import _NO_PART_OF_A_FIT, sources_of_fits


def test_the_version_is_that_of_all_files_that_can_change_a_fit():
    names = {"/".join(path.parts[-2:]) for path in sources_of_fits()}
    assert {"embedding/base.py", "solvers/driver.py", "data/comparisons.py", "geometry.py"} <= names
    assert not names & {"benchmarks/measure.py", "cli/main.py", "report/page.py"}


def test_what_is_no_part_of_a_fit_exists():
    root = Path(nearer.__file__).parent
    assert [name for name in _NO_PART_OF_A_FIT if not (root / name).exists()] == []
