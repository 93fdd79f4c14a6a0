"""Ctrl-C at chosen points: one sentence, status 130 and no traceback, whatever the program is doing just then."""

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, os, signal, sys, threading, time, warnings
from nearer.cli import fit

def press():
    signal.raise_signal(signal.SIGINT)

{body}

fit._check = run
sys.argv = ["nearer", "check", "answers.csv"]
from nearer.cli.main import main
sys.exit(main())
"""
IN_A_COMMAND = """
def run(options):
    press()
"""
WHERE_NOTHING_CAN_BE_RAISED = """
class Thing:
    def __del__(self):
        press()

def run(options):
    Thing()
    time.sleep(60)  # the interrupt comes again
    return 0
"""
COMPILED_CODE_MAKES_AN_IMPORT_ERROR_OF_IT = """
def run(options):
    try:
        press()
    except KeyboardInterrupt:
        raise ImportError("numpy failed to import") from None
"""
TWICE = """
def run(options):
    try:
        press()
    finally:
        press()
"""
A_FIT_WARNS_OF_IT = """
def run(options):
    try:
        press()
    finally:
        warnings.warn("the fit was interrupted")
"""
A_THREAD_LOSES_ITS_WORK = """
def run(options):
    try:
        press()
    finally:
        worker = threading.Thread(target=lambda: 1 / 0)
        worker.start()
        worker.join()
"""
A_LIBRARY_CLEANS_UP = """
def run(options):
    atexit.register(press)
    press()
"""
THREADS_ARE_WAITED_FOR = """
def run(options):
    threading.Thread(target=time.sleep, args=(60,)).start()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    press()
"""
POINTS = {
    name: value for name, value in globals().items() if name.isupper() and name != "PROGRAM" and isinstance(value, str)
}


def ended(body):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(body=body)], capture_output=True, text=True, check=False, timeout=200
    )


@pytest.mark.parametrize("point", POINTS)
def test_ends_with_one_sentence(point):
    done = ended(POINTS[point])
    assert (done.returncode, done.stderr, done.stdout) == (130, "nearer: stopped\n", "")


@pytest.mark.parametrize("module", ["nearer._common.files", "numpy", "scipy.special", "numba"])
def test_while_a_module_is_loaded(module):
    done = ended(f"""
class Presses:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            press()

sys.meta_path.insert(0, Presses())
def run(options):
    import nearer.optimize.kernels
""")
    assert (done.returncode, done.stderr) == (130, "nearer: stopped\n")


def test_what_is_finished_stays_finished():
    """The result is there; a key that is pressed while the process ends only ends it sooner."""
    done = ended("""
def run(options):
    threading.Thread(target=time.sleep, args=(60,)).start()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    print("the result")
    return 1
""")
    assert (done.returncode, done.stderr, done.stdout) == (1, "", "the result\n")


def test_other_errors_are_reported_as_ever():
    done = ended("""
def run(options):
    raise ValueError("no such column")
""")
    assert (done.returncode, done.stderr) == (2, "nearer: no such column\n")


def test_an_ignored_interrupt_stays_ignored():
    """As in the background of a shell."""
    done = ended("""
signal.signal(signal.SIGINT, signal.SIG_IGN)
def run(options):
    press()
    print("done")
    return 0
""")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "done\n")


def test_an_interrupted_fit_says_what_there_is(tmp_path, forks):
    (tmp_path / "answers.csv").write_text("anchor,near,far\n" + "a,b,c\nb,a,c\nc,b,a\nd,a,b\n" * 20)
    code = f"""
import pkgutil, signal, sys

def press(*_):
    signal.raise_signal(signal.SIGINT)

setattr(pkgutil.resolve_name(sys.argv.pop(1)), sys.argv.pop(1), press)
sys.argv += ["fit", {str(tmp_path / "answers.csv")!r}, "-o", {str(tmp_path / "map")!r}]
sys.argv += ["--method", "STE", "--dimensions", "2", "--quick"]
from nearer.cli.main import main
sys.exit(main())
"""
    done = forks.run("-c", code, "nearer.embedding:STE", "fit")
    assert (done.returncode, done.stderr) == (130, "nearer: map ...\nnearer: stopped; no map was written\n")
    assert not (tmp_path / "map").exists()
    done = forks.run("-c", code, "nearer.evaluation.held_out", "evaluate_all")
    assert done.returncode == 130
    assert done.stderr == "nearer: map ...\nnearer: held-out error ...\n"
    assert "the run was stopped before its end" in done.stdout
    assert (tmp_path / "map" / "results.json").exists()
