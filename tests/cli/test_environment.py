"""What the program says about itself: its version, the computer it runs on, and how a line may go on."""

import os
import re
import subprocess
import sys
from importlib.metadata import requires, version

import pytest

from nearer.cli.main import main


@pytest.mark.parametrize("arguments", [["--version", "--verbose"], ["--verbose", "--version"]])
def test_a_report_of_a_defect_has_what_it_needs(arguments, monkeypatch, capsys):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert main(arguments) == 0
    said = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.replace("compiled ", "").splitlines())
    assert said["nearer"] == version("nearer")
    assert said["python"].startswith("{}.{}.{}".format(*sys.version_info))
    needed = [re.match(r"[\w.-]+", line)[0] for line in requires("nearer") if "extra ==" not in line]
    assert {name: version(name) for name in needed}.items() <= said.items()
    assert "sphinx" not in said
    assert re.search(r"\d+ processors?, loops: \d+, .*OMP_NUM_THREADS=3", said["threads"])
    assert re.match(r"of \d+ functions? in \S+", said["loops"])


def test_the_version_alone_is_a_line(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"nearer {version('nearer')}\n"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("nearer f", {"features", "fit", "figure"}),
        ("nearer survey s", {"secret"}),
        ("nearer fit a.csv --kind odd", {"odd-one-out"}),
        ("nearer fit a.csv --dim", {"--dimensions"}),
    ],
)
def test_a_shell_completes_commands_options_and_choices(line, wanted, tmp_path):
    pytest.importorskip("argcomplete", reason="completes lines of a shell: pip install argcomplete")
    found = tmp_path / "found"
    asked = {
        "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": str(found), "COMP_LINE": line,
        "COMP_POINT": str(len(line)), "COMP_TYPE": "9",
    }  # fmt: skip
    code = "import sys; from nearer.cli.main import main; sys.exit(main())"
    subprocess.run([sys.executable, "-c", code], env=os.environ | asked, check=True)
    assert {each.strip() for each in found.read_text(encoding="utf-8").split("\n")} == wanted
