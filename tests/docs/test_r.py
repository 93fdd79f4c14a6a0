"""docs/r.md: its script runs in R, where R and reticulate are installed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nearer

PAGE = (Path(__file__).parents[2] / "docs" / "r.md").read_text(encoding="utf-8")
SCRIPT = re.search(r"^```r\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[1]


def test_the_script_runs_in_r(tmp_path):
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("no R here: install Debian's r-base-core and r-cran-reticulate")
    if subprocess.run([rscript, "-e", "library(reticulate)"], capture_output=True, check=False).returncode:
        pytest.skip("R is here without reticulate: install Debian's r-cran-reticulate")
    (tmp_path / "script.R").write_text(SCRIPT, encoding="utf-8")
    paths = os.pathsep.join([str(Path(nearer.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"RETICULATE_PYTHON": sys.executable, "PYTHONPATH": paths}
    done = subprocess.run(
        [rscript, "script.R"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^(cat|dog|car|bus) +[-\d.]+", done.stdout, re.MULTILINE)
    assert len(rows) == 8  # of the map, and of the matrix
