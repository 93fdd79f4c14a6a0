"""What can be taken from the page as a file, in a real browser: the map, its table, and the distances."""

import csv
import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from helpers.report_sample import color_results, random_results, results_of
from scipy.spatial.distance import cdist

from nearer._common.tables import escape_formula
from nearer.report import write_report
from nearer.study import StudyResults

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def saved(browser, tmp_path):
    """Open a report, press one of its buttons and return the file."""
    folder = tmp_path / "downloads"
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})

    def save(results, kind, name, **options):
        page = write_report(StudyResults.from_dict(results), tmp_path / "report.html", **options)
        if browser.current_url != page.as_uri():
            browser.get(page.as_uri())
        browser.find_element("css selector", f"[data-saves={kind}]").click()
        end = time.monotonic() + 60
        while not (folder / name).exists() and time.monotonic() < end:
            time.sleep(0.02)
        assert browser.find_element("id", "status").get_attribute("textContent") == f"{name} is saved."
        return folder / name

    yield save
    assert browser.get_log("browser") == []


def window(browser, width, height):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def table_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_the_table_is_that_of_the_map_and_labels_are_inert(saved):
    labels = ["=cmd()", 'say "a", b', "two\nlines", "日本語", "'+1", "plain"]
    results = results_of(np.random.default_rng(0).normal(size=(6, 3)), labels, {})
    head, *rows = table_of(saved(results, "table", "embedding.csv"))
    assert head == ["object", "x1", "x2", "x3", "sd1", "sd2", "sd3"]
    assert [row[0] for row in rows] == [escape_formula(label) for label in labels]
    numbers = np.array([row[1:] for row in rows], dtype=float)
    deviations = np.sqrt(np.diagonal(np.array(results["covariances"]), axis1=1, axis2=2))
    np.testing.assert_allclose(numbers, np.hstack([results["embedding"], deviations]), rtol=2e-4)


def test_the_matrix_holds_the_distances(saved):
    results = random_results(9, 4)
    rows = table_of(saved(results, "matrix", "distances.csv"))
    assert rows[0] == ["object", *results["objects"]]
    assert [row[0] for row in rows[1:]] == results["objects"]
    found = np.array([row[1:] for row in rows[1:]], dtype=float)
    np.testing.assert_allclose(found, cdist(results["embedding"], results["embedding"]), rtol=1e-4, atol=1e-5)


def test_a_matrix_of_very_many_objects_is_not_offered(browser, tmp_path):
    browser.get(write_report(StudyResults.from_dict(random_results(2001)), tmp_path / "report.html").as_uri())
    shown = {
        each.get_attribute("data-saves"): each.is_displayed()
        for each in browser.find_elements("css selector", "[data-saves]")
    }
    assert shown == {"svg": True, "png": True, "table": True, "matrix": False}


def test_the_drawing_has_a_shape_and_words_for_each_object(saved):
    labels = ["<b>&amp;", "two", "three", "four", "five"]
    points = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0], [2.0, 2.0]]
    results = results_of(points, labels, {"kind": ["a", "b", "a", "b", "b"]})
    root = ElementTree.parse(saved(results, "svg", "map.svg")).getroot()
    assert root.tag == f"{SVG}svg"
    assert sorted(each.text for each in root.iter(f"{SVG}text")) == sorted([*labels, "kind", "a", "b"])
    assert len(list(root.iter(f"{SVG}ellipse"))) == 5
    shapes = [*root.iter(f"{SVG}circle"), *root.iter(f"{SVG}path")]
    assert len(shapes) == 5 + 2  # objects, and kinds in the legend
    assert "rgba" not in ElementTree.tostring(root, encoding="unicode")


@pytest.mark.parametrize(("p", "column"), [(2, "hue"), (3, "family")])
def test_the_drawing_looks_like_the_picture_on_a_dark_screen_too(saved, browser, p, column, tmp_path):
    """The drawing is opened by the browser, and compared with the pixels that the page has saved."""
    imread = pytest.importorskip("matplotlib.image").imread
    window(browser, 900, 700)
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen", "features": [dark]})
    results = color_results(p, placed={"objects": color_results()["objects"][-3:]})
    results["attributes"] = {column: results["attributes"][column]}
    picture = imread(saved(results, "png", "map.png"))[..., :3]
    drawing = saved(results, "svg", "map.svg")
    size = ElementTree.parse(drawing).getroot()
    width, height = round(float(size.get("width"))), round(float(size.get("height")))
    assert picture.shape == (3 * height, 3 * width, 3)
    window(browser, width, height)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen", "features": []})
    browser.get(drawing.as_uri())
    browser.save_screenshot(str(tmp_path / "seen.png"))
    seen = imread(tmp_path / "seen.png")[..., :3]
    averaged = picture.reshape(height, 3, width, 3, 3).mean(axis=(1, 3))
    assert np.mean(averaged < 0.99) > 0.02  # there is something on it
    # 0.98 here; 0.84 if words, or all of it, were drawn a pixel lower.
    assert np.corrcoef(averaged.ravel(), seen.ravel())[0, 1] > 0.93
    assert averaged[0, 0].min() > 0.99  # white paper
    assert column in {each.text for each in size.iter(f"{SVG}text")}  # the legend's title
