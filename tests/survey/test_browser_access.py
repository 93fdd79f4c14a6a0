"""Everybody can take part: axe on every page, large type, odd colours, all languages, what is read out."""

import itertools

import pytest
from helpers.browsing import DESK, PHONE, eventually, overflow, sized, violations
from helpers.visiting import Visitor

from nearer.survey.settings import translations
from nearer.survey.store import STATUS, write_fact

TEXTS = {"welcome": "Hello.\n\nThis is about things.", "consent": "I agree to all of it.", "thanks": "All is well."}
LOOKS = [
    {"accent": "#1f5fbf", "background": "#ffffff"},
    {"accent": "#ffd34d", "background": "#10131a"},
    {"accent": "#ffffff", "background": "#757575"},  # white letters can just be read, and on nothing lighter
    {"accent": "#000000", "background": "#767676"},
    {"accent": "#7a0012", "background": "#ffd9e0"},
    {"accent": "#00ff7f", "background": "#5b2a86"},
]


def test_axe_finds_what_is_wrong(browser, at_port):
    visitor = Visitor(browser, at_port())
    visitor.open()
    assert violations(browser) == []
    browser.execute_script("document.querySelector('.sheet p').style.color = '#bbbbbb'")
    browser.execute_script("document.querySelector('main').append(document.createElement('button'))")
    assert {each.split(":")[0] for each in violations(browser)} == {"button-name", "color-contrast"}


def test_pages_of_studies_that_are_paused_or_closed(browser, at_port):
    served = at_port()
    visitor = Visitor(browser, served)
    for status in ("paused", "closed"):
        served.writer.run(lambda connection, status=status: write_fact(connection, STATUS, status))
        assert visitor.open() == ("sheet", f"The study is {status}")
        for size in (PHONE, DESK):
            sized(browser, size)
            assert violations(browser) == []
            assert overflow(browser) == 0


@pytest.mark.parametrize("language", translations())
def test_every_language(browser, at_port, language):
    words = translations()[language]
    served = at_port(
        language=language, kind="2 of 4", texts=TEXTS, questions={"per_person": 2, "practice": 1, "break_every": 1}
    )
    visitor = Visitor(browser, served)
    visitor.open()
    assert browser.find_element("tag name", "html").get_attribute("lang") == language

    def look(_):
        assert violations(browser) == []
        assert overflow(browser) == 0

    visitor.begin()
    headings = visitor.finish((0, 1), look)
    assert headings == [words["practice_over"], words["break"], words["thanks"]]


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look["background"])
def test_every_look(browser, at_port, look):
    served = at_port(
        kind="2 of 4", texts=TEXTS, look=look, questions={"per_person": 2, "practice": 1, "break_every": 1}
    )
    visitor = Visitor(browser, served)

    def look_at(_=None):
        assert violations(browser) == []

    visitor.open()
    look_at()
    visitor.begin()
    visitor.use(visitor.find("button.option")[0])
    look_at()
    # Borders of buttons are 3:1 at least, which axe does not look at.
    assert contrast_of_borders(browser) >= 3
    visitor.use(visitor.find("button.option")[0])
    visitor.finish((0, 1), look_at)


def contrast_of_borders(browser):
    """Return the least contrast of an option's border with the page."""
    border, page = browser.execute_script(
        "const paint = document.createElement('canvas').getContext('2d', { willReadFrequently: true });"
        "const seen = (colour) => { paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);"
        "  return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3).map((value) => value / 255); };"
        "const option = document.querySelectorAll('.option')[1];"
        "return [seen(getComputedStyle(option).borderTopColor), seen(getComputedStyle(document.body).backgroundColor)]"
    )
    dark, light = sorted(map(luminance, (border, page)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("kind", ["triplet", "odd-one-out", "3 of 8"])
def test_large_type(browser, at_port, kind):
    objects = [f"a thing called {name}" for name in ("Donaudampfschifffahrt", *"bcdefghij")]
    served = at_port(
        kind=kind, objects=objects, texts=TEXTS, questions={"per_person": 2, "practice": 1, "break_every": 1}
    )
    visitor = Visitor(browser, served)
    try:
        # What settings of a phone do to rem, and to all lengths that are given in it.
        browser.execute_cdp_cmd("Page.enable", {})
        browser.execute_cdp_cmd("Emulation.setPageScaleFactor", {"pageScaleFactor": 1})
        browser.execute_cdp_cmd("Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}})
        visitor.open()
        assert browser.execute_script("return getComputedStyle(document.documentElement).fontSize") == "32px"
        look_for_overflow(visitor)
        visitor.begin()
        headings = visitor.finish(range(3 if kind == "3 of 8" else 1), lambda _: look_for_overflow(visitor))
        assert headings[-1] == "Thank you!"
    finally:
        browser.execute_cdp_cmd("Page.setFontSizes", {"fontSizes": {"standard": 16, "fixed": 13}})


def look_for_overflow(visitor):
    """Say that a page is no wider than its window, that no letter is cut off, and that axe is content."""
    assert overflow(visitor.browser) == 0
    cut = visitor.browser.execute_script(
        "return [...document.querySelectorAll('main *')].filter((each) => each.scrollWidth > each.clientWidth + 1"
        " && getComputedStyle(each).display !== 'inline').map((each) => each.outerHTML.slice(0, 200))"
    )
    assert cut == []
    assert violations(visitor.browser) == []


@pytest.mark.parametrize("kind", ["triplet", "most-central", "2 of 8"])
def test_a_question_fits_the_screen(browser, at_port, kind):
    served = at_port(kind=kind, questions={"per_person": 1, "practice": 0}, objects=tuple("abcdefghij"))
    visitor = Visitor(browser, served)
    visitor.open()
    visitor.begin()
    for size in (PHONE, (844, 390), (320, 568), DESK):
        sized(browser, size)
        assert overflow(browser) == 0, size
        boxes = browser.execute_script(
            "return [...document.querySelectorAll('button')].map((each) => each.getBoundingClientRect().toJSON())"
        )
        assert max(box["bottom"] for box in boxes) <= size[1]
        assert min(min(box["width"], box["height"]) for box in boxes) >= 44, size
        for one, other in itertools.combinations(boxes, 2):
            beside = one["right"] <= other["left"] or other["right"] <= one["left"]
            assert beside or one["bottom"] <= other["top"] or other["bottom"] <= one["top"], size


def test_what_is_read_out(browser, at_port):
    served = at_port(texts=TEXTS, question="Which is more like it?", questions={"per_person": 2, "practice": 0})
    visitor = Visitor(browser, served)
    visitor.open()
    visitor.begin()

    def focus():
        return browser.execute_script(
            "return document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
        )

    assert focus().startswith("Compare with: a ")  # the new question begins here
    group = visitor.find(".options")[0]
    assert (group.aria_role, group.accessible_name) == ("group", "Which is more like it?")
    assert all(button.accessible_name.startswith("a ") for button in visitor.find("button.option"))
    assert visitor.find("progress")[0].accessible_name == "Questions answered"
    visitor.finish()
    eventually(lambda: focus() == "Thank you!")
    assert visitor.find("output")[0].accessible_name == "Your completion code"


def test_the_researchers_page(browser, at_port):
    served = at_port()
    for _ in range(3):
        served.person().finish()
    for scheme, size in itertools.product(("light", "dark"), (PHONE, DESK)):
        sized(browser, size)
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        browser.get(f"{served.link}researcher?key={served.secret}")
        eventually(lambda: browser.find_elements("css selector", "#people tbody tr"))
        assert violations(browser) == []
        assert overflow(browser) == 0
