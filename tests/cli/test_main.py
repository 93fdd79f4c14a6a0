import subprocess
import sys

from nearer.cli.main import main


def run(arguments, capsys):
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = stop.code
    return status, *capsys.readouterr()


def test_a_folder_that_cannot_be_made_ends_with_a_sentence(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    status, out, err = run(["demo", "--out", str(tmp_path / "file" / "below")], capsys)
    assert (status, out) == (2, "")
    assert err.startswith("nearer: ")
    assert "choose another folder with --out" in err
    assert err.count("\n") == 1


def test_help_loads_nothing_heavy():
    code = (
        "import sys, nearer\nfrom nearer.cli.main import main\n"
        "try: main(['fit', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'sklearn', 'matplotlib', 'scipy.optimize', 'joblib', 'tqdm'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--dimensions" in done.stdout


def test_only_the_command_that_is_asked_for_is_loaded():
    code = (
        "import sys\n"
        "from nearer.cli.main import main\n"
        "try: main(['fit', '--help'])\n"
        "except SystemExit: print('modules', *(name for name in sys.modules if name.startswith('nearer.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    commands = {"arguments", "argtypes", "fit", "main", "process"}
    light = {
        "nearer._common",
        "nearer._common.files",
        "nearer._common.formatting",
        "nearer.study",
        "nearer.study.methods",
    }
    expected = {"nearer.cli", *light, *(f"nearer.cli.{name}" for name in commands)}
    assert set(done.stdout.splitlines()[-1].split()[1:]) == expected


def test_version(capsys):
    status, out, _ = run(["--version"], capsys)
    assert status == 0
    assert out.startswith("nearer 0.")
