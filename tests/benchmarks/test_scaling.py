import json

import numpy as np
import pytest

from benchmarks import scaling as scaling_module
from benchmarks import session
from benchmarks.__main__ import main
from benchmarks.scaling import Scaling, draw_scaling, exponent, exponents, plot_scaling, scaling_text
from benchmarks.session import Measured
from benchmarks.triplets import Size


@pytest.fixture
def power_laws(monkeypatch):
    """Fits that take exactly 1e-6 * m^1.5 * n^0.5 seconds, in m iterations."""

    def fake(program, loss, settings, data, warm_up, timeout=0.0):
        train = np.load(data)["train"]
        n, m = int(train.max()) + 1, len(train)
        figures = {"seconds": 1e-6 * m**1.5 * n**0.5, "n_iter": m, "peak_memory": 1e8, "warnings": []}
        return Measured(figures, np.zeros((n, settings["n_components"])))

    monkeypatch.setattr(session, "run_fit", fake)


def small(folder, **changes):
    settings = {"comparisons": (800, 200, 400), "objects": (20, 40), "fixed": Size(20, 300), "repeats": 2, **changes}
    return Scaling(folder, ("STE", "TSTE"), **settings)


@pytest.mark.parametrize("power", [-1.0, 0.0, 0.5, 1.0, 2.3])
def test_the_exponent_of_a_power_law(power):
    sizes = np.array([10.0, 30.0, 100.0, 3000.0])
    assert exponent(sizes, 7.0 * sizes**power) == pytest.approx(power, abs=1e-12)


def test_the_exponent_is_that_of_least_squares_in_logarithms():
    rng = np.random.default_rng(0)
    sizes = np.array([10.0, 30.0, 100.0, 3000.0])
    seconds = sizes**1.2 * np.exp(rng.normal(size=4))
    assert exponent(sizes, seconds) == pytest.approx(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def test_one_size_has_no_exponent():
    assert exponent([5, 5], [1.0, 2.0]) is None


def test_both_axes_are_measured_and_their_exponents_found(tmp_path, power_laws):
    run = small(tmp_path)
    rows = run.execute()
    sizes = [(row["objects"], row["comparisons"]) for row in rows if row["loss"] == "STE"]
    assert sizes == [(20, 200), (20, 400), (20, 800), (20, 300), (40, 300)]
    assert all(row["repeats"] == 2 for row in rows)
    found = {(entry["grows"], entry["loss"]): entry for entry in exponents(rows)}
    assert len(found) == 4
    assert found["comparisons", "STE"]["seconds"] == pytest.approx(1.5)
    assert found["comparisons", "TSTE"]["seconds_per_iteration"] == pytest.approx(0.5)
    assert found["objects", "STE"]["seconds"] == pytest.approx(0.5)
    assert "comparisons  STE        1.50                  0.50" in scaling_text(run, rows)


def test_the_figure_has_a_panel_for_each_axis(tmp_path, power_laws):
    rows = small(tmp_path).execute()
    draw_scaling(rows, tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").stat().st_size > 1000
    ax = plot_scaling(rows, "comparisons")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["STE: 1.50", "TSTE: 1.50"]
    dots, line = ax.lines[0].get_xydata(), ax.lines[1].get_xydata()
    assert np.allclose(dots, line)  # an exact power law lies on its line


def test_the_command_fits_for_real_and_writes_everything(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        scaling_module.Scaling, "sizes", lambda self: [("comparisons", Size(20, m)) for m in (200, 400)]
    )
    arguments = ["--loss", "gnmds", "--repeats", "1", "--dimension", "2", "--out", str(tmp_path), "--json"]
    assert main(["scaling", *arguments]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["comparisons"] for row in answer["table"]] == [200, 400]
    assert all(row["iterations"] >= 1 and row["error"] < 0.3 for row in answer["table"])
    assert answer["exponents"][0]["loss"] == "GNMDS"
    assert {path.name for path in tmp_path.iterdir()} == {"measurements.jsonl", "table.txt", "table.csv", "scaling.png"}


def test_what_cannot_work_is_refused_before_any_file_is_made(tmp_path):
    with pytest.raises(ValueError, match="size 3x300 is too large"):
        small(tmp_path / "new", objects=(3,))
    assert not (tmp_path / "new").exists()
