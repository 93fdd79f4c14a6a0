"""The report in a real browser: what it shows, how it answers, and that labels stay inert."""

import base64
import json

import numpy as np
import pytest
from helpers.browsing import eventually
from helpers.report_sample import color_results, empty_results, random_results, results_of

from nearer.report import write_report
from nearer.study import StudyResults

TIMES = "\u00d7"
BAD = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "=cmd()", "</script><script>alert(2)</script>",
    "<!--", "a\u2028b", "javascript:alert(1)", "日本語", "عربي", "x" * 300, "", "tab\tand\nline", "{{7*7}}", "${7*7}",
]  # fmt: skip


@pytest.fixture
def opened(browser, tmp_path):
    """Open a report; afterwards its log must be clean and it must have asked for nothing."""

    def open_report(results, **options):
        page = write_report(StudyResults.from_dict(results), tmp_path / "report.html", **options)
        browser.get(page.as_uri())
        settle(browser)
        return browser

    yield open_report
    assert browser.get_log("browser") == []
    asked = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    addresses = {
        event["params"]["request"]["url"].split(":")[0]
        for event in asked
        if event["method"] == "Network.requestWillBeSent"
    }
    assert addresses <= {"file", "data"}


def settle(browser):
    """Wait until the map is drawn: two frames after the last change and the time that labels wait for."""
    browser.execute_async_script(
        "const done = arguments[0]; setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 180)"
    )


def get(browser, selector):
    return browser.find_element("css selector", selector)


def get_all(browser, selector):
    return browser.find_elements("css selector", selector)


def words(browser, selector):
    return get(browser, selector).text


def picture(browser):
    settle(browser)
    return browser.execute_script("return document.getElementById('canvas').toDataURL()")


def press(browser, *keys):
    from selenium.webdriver.common.action_chains import ActionChains

    browser.execute_script("document.getElementById('canvas').focus()")
    for key in keys:
        ActionChains(browser).send_keys(key).perform()


def select(browser, selector, value):
    from selenium.webdriver.support.ui import Select

    Select(get(browser, selector)).select_by_value(value)


def test_labels_are_inert(opened):
    points = np.random.default_rng(0).normal(size=(len(BAD), 3))
    results = results_of(points, BAD, {BAD[1]: BAD}) | {
        "title": BAD[0],
        "command": BAD[3],
    }
    results["annotators"] = [
        person | {"name": label} for person, label in zip(results["annotators"], BAD, strict=False)
    ]
    results["findings"][0] |= {"title": BAD[0], "examples": BAD[:2]}
    results["notes"] = BAD
    browser = opened(results)
    assert browser.title == BAD[0]
    assert words(browser, "h1") == BAD[0]
    for label in BAD[:3]:
        find = get(browser, "#find")
        find.clear()
        find.send_keys(label + "\n")
        assert words(browser, "#panel h3") == label
    get(browser, "#positions summary").click()
    assert eventually(lambda: BAD[0] in words(browser, "#positions-table"))
    assert BAD[1] in words(browser, "#annotators-table")
    assert get_all(browser, "main img") == []
    assert len(get_all(browser, "script")) == 2
    assert browser.execute_script("return document.querySelectorAll('[onerror],[onclick],[style*=url]').length") == 0


def test_a_script_that_slips_in_is_refused_by_the_policy(browser, tmp_path):
    page = write_report(StudyResults.from_dict(color_results()), tmp_path / "report.html")
    content = page.read_text(encoding="utf-8")
    bad = "<script>document.title = 'ran'</script><img src='https://example.org/x.png' onerror='document.title = 2'>"
    page.write_text(content.replace("<main>", "<main>" + bad), encoding="utf-8")
    browser.get(page.as_uri())
    settle(browser)
    assert browser.title == "colors"
    assert all("Content Security Policy" in entry["message"] for entry in browser.get_log("browser"))


def test_zoom_by_buttons_keys_and_wheel(opened):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    browser = opened(color_results())
    start = picture(browser)
    get(browser, "#zoom-in").click()
    assert words(browser, "#zoom-level") == "1.5" + TIMES
    assert picture(browser) != start
    get(browser, "#zoom-out").click()
    press(browser, "+", "+")
    assert words(browser, "#zoom-level") == "1.6" + TIMES
    press(browser, "-", "0")
    assert words(browser, "#zoom-level") == "1" + TIMES
    assert picture(browser) == start
    origin = ScrollOrigin.from_element(get(browser, "#canvas"))
    ActionChains(browser).scroll_from_origin(origin, 0, -200).perform()
    assert eventually(lambda: float(words(browser, "#zoom-level").rstrip(TIMES)) > 1.2)


def test_the_page_scrolls_over_a_map_that_is_not_in_use(opened):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    browser = opened(color_results())
    ActionChains(browser).scroll_from_origin(ScrollOrigin.from_element(get(browser, "#canvas")), 0, 100).perform()
    assert eventually(lambda: "Click the map" in words(browser, "#hint"))
    assert words(browser, "#zoom-level") == "1" + TIMES
    assert eventually(lambda: browser.execute_script("return scrollY") > 0)


def test_arrows_and_drags_move_the_map(opened):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    browser = opened(color_results())
    start = picture(browser)
    press(browser, Keys.ARROW_LEFT, Keys.ARROW_UP)
    assert picture(browser) != start
    press(browser, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert picture(browser) == start
    # From a corner, where no object is, so that none is chosen at the end.
    ActionChains(browser).move_to_element_with_offset(
        get(browser, "#canvas"), -400, 300
    ).click_and_hold().move_by_offset(60, -40).release().perform()
    assert picture(browser) != start


def test_pinching_zooms(opened):
    browser = opened(color_results())
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    browser.execute_script("document.getElementById('canvas').scrollIntoView()")
    for kind, gap in (("touchStart", 50), ("touchMove", 80), ("touchMove", 100), ("touchEnd", None)):
        points = [] if gap is None else [{"x": 400 - gap, "y": 300, "id": 0}, {"x": 400 + gap, "y": 300, "id": 1}]
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert eventually(lambda: words(browser, "#zoom-level") == "2" + TIMES)


def test_pointing_and_keys_show_an_object_with_neighbors_and_uncertainty(opened):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    # The middle of the map is the first object.
    points = [[0.0, 0.0], [1.0, 1.0], [-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]]
    browser = opened(results_of(points, ["middle", "b", "c", "d", "e"], {"size": [1.5, 2, 3, 4, None]}))
    browser.execute_script("document.getElementById('canvas').scrollIntoView()")
    ActionChains(browser).move_to_element_with_offset(get(browser, "#canvas"), 0, -14).perform()
    assert eventually(lambda: words(browser, "#panel").startswith("middle"))
    assert words(browser, "#panel dl").split("\n")[:2] == ["size", "1.5"]
    assert "95% region" in words(browser, "#panel dl")
    assert {button.text for button in get_all(browser, "#panel ol button")} == {"b", "c", "d", "e"}
    ActionChains(browser).move_to_element(get(browser, "h1")).perform()
    press(browser, "n", "n")
    assert words(browser, "#panel h3") == "b"
    assert get(browser, "#status").get_attribute("textContent").startswith("b. Nearest: middle")
    press(browser, "p", "p")
    assert words(browser, "#panel h3") == "e"
    get(browser, "#panel ol button").click()
    assert words(browser, "#panel h3") == "middle"
    press(browser, Keys.ESCAPE)
    assert "Point at an object" in words(browser, "#panel")


def test_switches_colors_axes_and_three_dimensions_change_the_picture(opened):
    browser = opened(color_results(3))
    pictures = [picture(browser)]
    for act in (
        lambda: get(browser, "#show-labels").click(),
        lambda: get(browser, "#show-ellipses").click(),
        lambda: select(browser, "#color", "family"),
        lambda: select(browser, "#color", "hue"),
        lambda: select(browser, "#axes select", "2"),
        lambda: get(browser, "#modes input[value='3']").click(),
        lambda: press(browser, "\ue012"),
        lambda: get(browser, "#show-ellipses").click(),
    ):
        act()
        pictures.append(picture(browser))
    assert len(set(pictures)) == len(pictures)


def test_legends_explain_the_colors(opened):
    browser = opened(color_results())
    assert words(browser, "#legend") == ""
    select(browser, "#color", "family")
    assert words(browser, "#legend").startswith("family\nred\n17")
    select(browser, "#color", "hue")
    assert words(browser, "#legend").split("\n")[-1] == "grey: not known"


def test_axes_swap_rather_than_coincide(opened):
    browser = opened(random_results(20, 4))
    select(browser, "#axes select", "1")
    chosen = [item.get_attribute("value") for item in get_all(browser, "#axes select")]
    assert chosen[:2] == ["1", "0"]
    assert sorted(chosen) == ["0", "1", "2"]


def test_search_finds_by_part_and_prefers_the_whole_name(opened):
    browser = opened(color_results())
    find = get(browser, "#find")
    find.send_keys("RED")
    assert "of 68 objects match" in get(browser, "#status").get_attribute("textContent")
    find.send_keys("\n")
    assert words(browser, "#panel h3") == "red"


def test_tables_sort_filter_and_page(opened):
    browser = opened(color_results())

    def rows(name):
        script = f"return [...document.querySelectorAll('#{name}-table tbody tr')].map((row) => row.innerText)"
        return browser.execute_script(script)

    assert len(rows("neighbors")) == 25
    get(browser, "#neighbors-table thead button").click()
    assert rows("neighbors")[0].startswith("aubergine")
    get(browser, "#neighbors-table thead button").click()
    assert rows("neighbors")[0].startswith("yellow")
    get_all(browser, "#neighbors-table .pager button")[2].click()
    assert len(rows("neighbors")) == 68
    get(browser, "#neighbors-table input").send_keys("pink")
    assert sorted(row.split()[0] for row in rows("neighbors")) == ["deep", "hot", "pink"]
    error = get_all(browser, "#annotators-table thead button")[3]
    error.click()
    error.click()
    assert rows("annotators")[0].startswith("A3")
    assert get_all(browser, "#annotators-table th")[3].get_attribute("aria-sort") == "descending"
    seconds = get_all(browser, "#annotators-table thead button")[4]
    for _ in range(2):
        seconds.click()
        assert rows("annotators")[-1].startswith("A0")  # whose seconds are not known
    get(browser, "#positions summary").click()
    assert eventually(lambda: len(rows("positions")) == 25)
    get(browser, "#neighbors-table button.object").click()
    assert words(browser, "#panel h3") in {"pink", "hot pink", "deep pink"}


@pytest.mark.parametrize("clipboard", ["allowed", "refused"])
def test_copying_works_without_a_network(opened, clipboard):
    from selenium.webdriver.common.keys import Keys

    browser = opened(color_results(citations=[{"text": f"Somebody, {clipboard} (2019).", "doi": "10.0000/example"}]))
    if clipboard == "refused":
        browser.execute_script("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))")
    get(browser, "[data-copies='citations-text']").click()
    # It says so for two seconds only.
    assert eventually(lambda: words(browser, "[data-copies='citations-text']") == "Copied")
    get(browser, "#find").send_keys(Keys.CONTROL, "v")
    assert get(browser, "#find").get_attribute("value").strip() == f"Somebody, {clipboard} (2019). doi:10.0000/example"


def test_everything_is_reached_by_tab_and_has_a_name(opened):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    browser = opened(random_results(9, 3))
    wanted = browser.execute_script(
        "return [...document.querySelectorAll('a, button, input, select, summary, canvas, [tabindex]')]"
        ".filter((item) => item.checkVisibility() && !item.disabled && (item.type !== 'radio' || item.checked)).length"
    )
    reached = 0
    for _ in range(wanted):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        # A ring that can be seen, and words for those who cannot.
        reached += browser.execute_script(
            "const item = document.activeElement; if (item === document.body) return false;"
            "const named = item.getAttribute('aria-label') || item.textContent || (item.labels && item.labels.length);"
            "return Boolean(named) && getComputedStyle(item).outlineStyle !== 'none'"
        )
    assert reached == wanted


@pytest.mark.parametrize(
    "results", [color_results(3), random_results(30, 9), empty_results()], ids=["3-D", "9-D", "empty"]
)
def test_a_phone_needs_no_scrolling_sideways(opened, browser, results):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    )
    opened(results | {"objects": ["x" * 60, *results["objects"][1:]]})
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize(
    ("n_large", "note"), [(0, ""), (2, "2 of 8 objects"), (5, "5 of 8 objects"), (8, "all objects")]
)
def test_ellipses_larger_than_half_the_map_are_shown_one_at_a_time(opened, n_large, note):
    points = np.random.default_rng(0).normal(size=(8, 2))
    small, large = np.diag([0.01, 0.02]), np.diag([4.0, 1.0])
    covariances = [(large if number < n_large else small).tolist() for number in range(8)]
    browser = opened(results_of(points, list("abcdefgh"), {}) | {"covariances": covariances})
    hint = get(browser, "#large")
    assert hint.is_displayed() == (n_large > 0)
    assert note in hint.text
    drawn = picture(browser)
    get(browser, "#show-ellipses").click()
    assert (picture(browser) == drawn) == (n_large > 4)  # where most are large, none is drawn


def test_the_points_decide_what_is_shown_and_not_their_ellipses(opened):
    points = np.random.default_rng(0).normal(size=(8, 2))
    results, shown = results_of(points, list("abcdefgh"), {}), []
    for size in (0.001, 0.1, 4.0):
        browser = opened(results | {"covariances": [(size * np.eye(2)).tolist()] * 8})
        get(browser, "#show-ellipses").click()
        shown.append(picture(browser))
    assert shown[0] == shown[1] == shown[2]


def test_on_a_phone_words_are_broken_at_spaces_alone(opened, browser):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    )
    names = ["saxophone", "harpsichord", "tambourine", "xylophone", "double bass", "clarinet", "violin", "viola"]
    opened(results_of(np.random.default_rng(0).normal(size=(8, 2)), names, {}))
    # A word on two lines has two boxes.
    broken = browser.execute_script(
        "const found = [];"
        "for (const item of document.querySelectorAll('#neighbors-table tbody bdi, .flag')) {"
        "  const text = item.firstChild, range = document.createRange();"
        "  for (const word of text.data.matchAll(/\\S+/g)) {"
        "    range.setStart(text, word.index); range.setEnd(text, word.index + word[0].length);"
        "    if (range.getClientRects().length > 1) found.push(word[0]);"
        "  }"
        "}"
        "return found"
    )
    assert broken == []
    assert len(get_all(browser, ".flag")) == 1


def test_dark_screens_are_dark_and_paper_is_light(opened, browser):
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen", "features": [dark]})
    opened(color_results())
    ink = "return getComputedStyle(document.documentElement).getPropertyValue('--ink')"
    assert browser.execute_script(ink) == "#e8e6e1"
    on_screen = picture(browser)
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": [dark]})
    assert browser.execute_script(ink) == "#2b2b2b"
    assert not get(browser, "#controls").is_displayed()
    assert get(browser, "#canvas").is_displayed()
    assert len(get_all(browser, "#neighbors-table tbody tr")) == 68
    assert picture(browser) != on_screen
    printed = browser.execute_cdp_cmd("Page.printToPDF", {})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")


def test_those_who_want_no_motion_get_none(opened, browser):
    still = {"name": "prefers-reduced-motion", "value": "reduce"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [still]})
    opened(color_results())
    assert (
        browser.execute_script("return getComputedStyle(document.querySelector('button')).transitionDuration") == "0s"
    )
    press(browser, *"+++++++++")
    frames = browser.execute_async_script(
        "const done = arguments[0]; const canvas = document.getElementById('canvas'); const seen = new Set();"
        "canvas.dispatchEvent(new KeyboardEvent('keydown', { key: 'n' })); let left = 20;"
        "const look = () => { seen.add(canvas.toDataURL()); left-- ? requestAnimationFrame(look) : done(seen.size) };"
        "requestAnimationFrame(() => requestAnimationFrame(look))"
    )
    assert frames == 1


def test_pictures_are_drawn_and_those_without_one_are_dots(opened, tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    drawing = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><script>document.title = "ran"</script>'
    (folder / "middle.svg").write_text(drawing + '<rect width="9" height="9" fill="#ff0000"/></svg>')
    points = [[0.0, 0.0], [1.0, 1.0], [-1.0, -1.0]]
    browser = opened(results_of(points, ["middle", "b", "c"], {}), thumbnails=folder)
    center = (
        "const canvas = document.getElementById('canvas'); const pixel = document.createElement('canvas');"
        "const context = pixel.getContext('2d', { willReadFrequently: true });"
        "context.drawImage(canvas, -Math.round(canvas.width / 2), -Math.round(canvas.height / 2 - 14));"
        "return [...context.getImageData(0, 0, 1, 1).data]"
    )
    assert eventually(lambda: browser.execute_script(center) == [255, 0, 0, 255])
    get(browser, "#show-images").click()
    settle(browser)
    assert browser.execute_script(center)[:3] == pytest.approx([0x3D, 0x6A, 0x8A], abs=2)
    assert browser.title == "colors"


def test_the_ellipse_in_the_panel_is_that_of_the_covariance(opened):
    results = results_of([[0.0, 0.0, 0.0], [3.0, 1.0, 0.0], [0.0, 2.0, 1.0]], ["a", "b", "c"], {})
    results["covariances"] = [[[4.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 9.0]]] * 3
    results["scales"] = [1.0, 2.0, 3.0]
    browser = opened(results)
    press(browser, "n")
    assert f"4 {TIMES} 2" in words(browser, "#panel dl")
    select(browser, "#axes select", "2")
    press(browser, "n")
    assert f"6 {TIMES} 2" in words(browser, "#panel dl")


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 3])
def test_a_map_that_is_one_point_opens(opened, n, p):
    browser = opened(results_of([[0.0] * p] * n, ["a", "b", "c"][:n], {}))
    assert get(browser, "#canvas").get_attribute("aria-label") == ("Map of 1 object" if n == 1 else "Map of 3 objects")
    get(browser, "#find").send_keys("a")
    said = "1 of 1 object matches." if n == 1 else "1 of 3 objects matches."
    assert get(browser, "#status").get_attribute("textContent") == said
    press(browser, "+", "n")
    assert words(browser, "#panel h3") == "a"


def test_notes_and_people_of_whom_little_is_known_are_shown(opened):
    browser = opened(color_results(notes=["the run was stopped before its end"], annotators=[{"name": "Ada"}]))
    assert words(browser, "#notes") == "Notes on this run\nthe run was stopped before its end"
    assert words(browser, "#annotators-table tbody").startswith("Ada")


def test_ten_thousand_objects_open(opened):
    browser = opened(random_results(10_000, 3))
    press(browser, "+", "n")
    assert words(browser, "#panel h3") == "object 0"
    assert "of 10,000" in words(browser, "#neighbors-table .counter")


def test_on_a_phone_tables_scroll_in_their_box_and_say_so(opened, browser):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 375, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    )
    opened(color_results(3))
    browser.execute_script("document.getElementById('positions').open = true")
    settle(browser)
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('.scroller')].map((box) => [box.getBoundingClientRect().right,"
        " box.scrollWidth > box.clientWidth, getComputedStyle(box).overflowX, !box.nextElementSibling.hidden])"
    )
    assert len(boxes) == 3
    for right, wide, overflow, told in boxes:
        assert right <= 375
        assert overflow == "auto"
        assert told == wide
    assert boxes[1][1]  # seven columns of neighbors cannot fit
    flag = get(browser, "#annotators-table .flag")
    assert browser.execute_script("return arguments[0].getBoundingClientRect().right", flag) <= 375


def test_objects_that_were_placed_are_drawn_as_rings(opened, browser):
    results = color_results()
    fitted = picture(opened(results))
    assert picture(opened(results | {"placed": {"objects": results["objects"][-2:]}})) != fitted
    press(browser, "p")
    assert "after the map was fitted" in words(browser, "#panel")
