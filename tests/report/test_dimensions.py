"""Dimensions on the page, in a real browser: cards, names that are kept, profiles, on a desk and on a phone."""

import csv
import time

import numpy as np
import pytest
from helpers.browsing import DESK, errors_in, eventually, overflow, press, sized, violations
from helpers.report_sample import color_results, weights_results

from nearer.report import write_report
from nearer.report.page import most_similar, payload
from nearer.study import StudyResults
from nearer.study.dimensions import read_names

BAD = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "=cmd()", "日本語", "عربي", "x" * 60]
NARROW = (360, 740)


@pytest.fixture
def opened(browser, tmp_path):
    """Open the page of dimensions, whose log must stay clean."""
    downloads = tmp_path / "downloads"
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)})

    def open_page(results=None, size=DESK, **options):
        results = StudyResults.from_dict(weights_results() if results is None else results)
        sized(browser, size)
        browser.get(write_report(results, tmp_path / "report.html", **options).as_uri())
        return browser

    yield open_page
    browser.execute_script("localStorage.clear()")
    assert errors_in(browser) == []


def get(browser, selector):
    return browser.find_element("css selector", selector)


def texts(browser, selector):
    return [each.get_attribute("textContent") for each in browser.find_elements("css selector", selector)]


def select(browser, selector, value):
    from selenium.webdriver.support.ui import Select

    Select(get(browser, selector)).select_by_value(str(value))


def downloaded(path):
    end = time.monotonic() + 30
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.02)
    return path


def test_cards_show_the_largest_weights_and_fold_what_is_not_reproducible(opened):
    results = weights_results()
    weights = np.array(results["embedding"])
    browser = opened(results)
    assert texts(browser, "#cards h3") == ["dimension 1", "dimension 2", "dimension 3"]
    assert texts(browser, "#other-cards h3") == ["dimension 4"]
    assert not get(browser, "#other-cards").is_displayed()
    order = [place for place in np.argsort(-weights[:, 0], kind="stable")[:8] if weights[place, 0] > 0]
    assert texts(browser, "#cards .card:first-child .object") == [results["objects"][place] for place in order]
    numbers = [words.split(",")[0] for words in texts(browser, "#cards .card:first-child small:not(.problem)")]
    np.testing.assert_allclose(np.array(numbers, dtype=float), weights[order, 0], atol=0.006)
    assert "very high, 0.95" in get(browser, "#cards .card").text
    low, high = results["weights"]["intervals"][order[0]][0]
    assert f"{low:.2f} to {high:.2f}" in texts(browser, "#cards .card:first-child li:first-child")[0]


def test_names_are_kept_downloaded_and_read_by_the_program(opened, tmp_path):
    browser = opened()
    field = get(browser, "#cards .card:nth-child(2) input")
    field.send_keys("  made of  =metal ")
    get(browser, "#cards .card:first-child input").send_keys("=sum(A1)")
    assert texts(browser, "#cards h3") == ["=sum(A1)", "made of =metal", "dimension 3"]
    assert "made of =metal" in texts(browser, "#axes option")
    browser.refresh()
    assert texts(browser, "#cards h3") == ["=sum(A1)", "made of =metal", "dimension 3"]
    get(browser, "[data-saves=names]").click()
    path = downloaded(tmp_path / "downloads" / "dimension-names.csv")
    assert read_names(path, 4) == ("=sum(A1)", "made of =metal", "", "")
    assert eventually(lambda: "dimension-names.csv is saved." in texts(browser, "#status"))
    get(browser, "#dimensions [data-saves=table]").click()
    with downloaded(tmp_path / "downloads" / "dimensions.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == ["object", "'=sum(A1)", "made of =metal", "dimension 3", "dimension 4"]


def test_names_of_one_map_are_not_those_of_another(opened):
    browser = opened()
    get(browser, "#cards input").send_keys("old")
    browser = opened(weights_results(13))
    assert texts(browser, "#cards h3")[0] == "dimension 1"
    named = weights_results()
    named["weights"]["names"] = ["from the file", "", "", ""]
    browser = opened(named)
    assert texts(browser, "#cards h3")[0] == "from the file"


def test_a_name_that_is_taken_is_refused(opened):
    browser = opened()
    get(browser, "#cards .card:nth-child(2) input").send_keys("dimension 1")
    assert get(browser, "#cards .card:nth-child(2) .problem").text == "another column has this name"
    assert texts(browser, "#cards h3")[1] == "dimension"  # what was typed before the last sign
    browser.refresh()
    assert texts(browser, "#cards h3")[1] == "dimension"


def test_profiles_follow_the_map_the_list_and_the_cards(opened):
    from selenium.webdriver.common.keys import Keys

    results = weights_results()
    weights, objects = np.array(results["embedding"]), results["objects"]
    browser = opened(results)
    select(browser, "#profile-object", 3)
    assert texts(browser, "#profile h4") == [objects[3]]
    order = [place for place in np.argsort(-weights[3], kind="stable") if weights[3, place] > 0]
    assert texts(browser, "#profile bdi")[1:] == [f"dimension {place + 1}" for place in order]
    browser.execute_script("document.getElementById('canvas').focus()")
    press(browser, "n")
    assert texts(browser, "#profile h4") == [objects[4]]
    get(browser, "#cards .object").send_keys(Keys.ENTER)
    assert texts(browser, "#profile h4") == [objects[int(weights[:, 0].argmax())]]
    first, second = (int(place) for place in np.argsort(-weights[:, 0])[:2])
    select(browser, "#profile-object", first)
    select(browser, "#profile-other", second)
    similarity = float(weights[first] @ weights[second])
    assert texts(browser, "#profile h4") == [
        objects[first],
        objects[second],
        f"Similarity {float(f'{similarity:.3g}'):g}",
    ]
    shares = [int(words.removesuffix("%")) for words in texts(browser, "#profile .card:last-child small")]
    products = weights[first] * weights[second]
    np.testing.assert_allclose(shares, sorted(100 * products[products > 0] / similarity)[::-1], atol=0.6)


def test_names_and_labels_are_inert(opened):
    results = weights_results(len(BAD) * 3, 4, [*BAD, *(f"{label} again" for label in BAD), *map(str, range(len(BAD)))])
    results["weights"]["names"] = BAD[:4]
    browser = opened(results)
    assert texts(browser, "#cards h3") == BAD[:3]
    get(browser, "#cards input").send_keys(BAD[1] + "!")
    assert texts(browser, "#cards h3")[0] == BAD[0] + BAD[1] + "!"
    select(browser, "#profile-object", 1)
    assert texts(browser, "#profile h4") == [BAD[1]]
    assert browser.find_elements("css selector", "main img") == []
    assert len(browser.find_elements("css selector", "script")) == 2


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", [DESK, NARROW])
def test_everybody_can_read_the_cards(opened, size, dark, tmp_path):
    from PIL import Image

    (tmp_path / "pictures").mkdir()
    for place in range(12):
        Image.new("RGB", (8, 6), (20 * place, 90, 120)).save(tmp_path / "pictures" / f"object {place}.png")
    browser = opened(size=size, thumbnails=tmp_path / "pictures")
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [scheme]})
    get(browser, "#dimensions summary").click()
    select(browser, "#profile-other", 2)
    assert get(browser, "#other-cards img").is_displayed()
    assert overflow(browser) <= 0
    assert violations(browser) == []


def test_a_map_by_distances_has_no_cards(opened):
    browser = opened(color_results())
    assert browser.find_elements("css selector", "#cards, #profile") == []


def test_what_is_most_similar_has_the_largest_inner_products():
    weights = np.array(weights_results(30)["embedding"])
    index, similarity = most_similar(weights)
    products = weights @ weights.T
    np.fill_diagonal(products, -1)
    np.testing.assert_allclose(similarity, -np.sort(-products, axis=1)[:, :5])
    np.testing.assert_allclose(np.take_along_axis(products, index, axis=1), similarity)


def test_a_page_of_things_stays_small(tmp_path):
    results = StudyResults.from_dict(weights_results(1854, 49))
    assert write_report(results, tmp_path / "report.html").stat().st_size < 2_500_000
    sent = payload(results, {})["weights"]["intervals"]
    assert [len(row) for row in sent] == (2 * (results.embedding > 0).sum(axis=1)).tolist()
