"""The Triton loop in Triton's interpreter against PyTorch's operations, and compiled for GPUs."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

HELPERS = Path(__file__).parents[2] / "helpers"


CODE = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"


@pytest.fixture(scope="module")
def interpreted(forks):
    program = HELPERS / "interpreted_triton.py"
    done = forks.run("-c", CODE, program, env=os.environ | {"TRITON_INTERPRET": "1"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_matches_pytorch(interpreted):
    assert len(interpreted["apart"]) > 70
    assert {case: apart for case, apart in interpreted["apart"].items() if max(apart) > 3e-6} == {}


def test_float64_is_float64(interpreted):
    assert max(interpreted["apart"]["float64"]) < 1e-13


def test_the_trial_run_finds_that_it_works(interpreted):
    assert interpreted["works"] is True


def test_the_trial_run_finds_what_is_off(interpreted):
    assert interpreted["warned"].startswith("the Triton loop does not work on 'cpu' (it is off by 1.0e+00)")


def test_compiles_for_gpus_from_volta_on(tmp_path, forks):
    """As far as the machine code: what the interpreter lets pass, a compiler may not."""
    env = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = forks.run("-c", CODE, HELPERS / "compiled_triton.py", env=env | {"TRITON_CACHE_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    sizes = json.loads(done.stdout)
    assert len(sizes) == 7
    assert min(sizes.values()) > 1000


def test_agrees_with_pytorch_on_a_gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no CUDA device: the loop was interpreted and compiled, and not run")
    from nearer.model import Hinge, Logistic, StudentT
    from nearer.optimize.kernels import Rows, tensors, triton_loops

    rng = np.random.default_rng(0)
    objects = rng.integers(200, size=(100_003, 4)).cumsum(axis=1) % 1000
    for width, loss in ((3, Logistic()), (4, Hinge()), (3, StudentT(2.0))):
        rows = tensors.TensorRows.of(Rows.of(objects[:, :width]), "cuda", torch.float32)
        points = torch.tensor(rng.normal(size=(1000, 10)), dtype=torch.float32, device="cuda")
        ours, theirs = (each.evaluate(loss.compiled, points, rows) for each in (triton_loops, tensors))
        assert float(ours[0]) == pytest.approx(float(theirs[0]), rel=1e-6)
        torch.testing.assert_close(ours[1], theirs[1], rtol=1e-4, atol=1e-4 * float(theirs[1].abs().max()))
