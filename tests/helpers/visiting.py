"""Somebody who takes part in a study with a real browser, by touch, mouse or keys."""

from helpers.browsing import PHONE, click, eventually, press, sized, tap

_WHERE = """
const asking = document.querySelector(".asking[data-listens]");
if (asking) return ["question", asking.dataset.question];
const sheet = document.querySelector(".sheet");
if (sheet && sheet.dataset.question) return ["unseen", sheet.dataset.question];
return sheet ? ["sheet", sheet.querySelector("h1").textContent] : null;
"""


class Visitor:
    """Somebody with a browser.

    Parameters
    ----------
    browser : selenium's driver
    served : Served
        With the link of the study.
    size : (int, int)
    by : {"touch", "mouse", "keys"}
    """

    def __init__(self, browser, served, size=PHONE, by="touch"):
        self.browser, self.served, self.by = browser, served, by
        sized(browser, size)

    def open(self, parameters=""):
        """Open the study, and return what is seen first."""
        self.browser.get(self.served.link + parameters)
        return self.where()

    def where(self, other_than=None):
        """Return what is on the screen once it can be used: by its kind, and its number or heading."""
        return tuple(eventually(lambda: (at := self.browser.execute_script(_WHERE)) and tuple(at) != other_than and at))

    def find(self, selector):
        """Return the elements that a selector finds."""
        return self.browser.find_elements("css selector", selector)

    def says(self, words):
        """Wait until the page says something."""
        eventually(lambda: words in self.browser.find_element("tag name", "body").text)

    def use(self, element):
        """Press a button or a box in this person's way."""
        if self.by == "keys":
            reach(self.browser, element)
            press(self.browser, " ")
        else:
            (tap if self.by == "touch" else click)(self.browser, element)

    def begin(self):
        """Agree, where that is asked for, and begin; return what comes then."""
        here = self.where()
        for box in self.find("input[type=checkbox]"):
            self.use(box)
        self.use(self.find("button.main")[0])
        return self.where(other_than=here)

    def go_on(self):
        """Press the button of a page between questions, and return what comes then."""
        here = self.where()
        self.use(self.find("button.main")[0])
        return self.where(other_than=here)

    def choose(self, places):
        """Answer the question on the screen."""
        if self.by == "keys":
            several = bool(self.find(".foot"))
            press(self.browser, *(str(place + 1) for place in places), *(["\ue007"] if several else []))
            return
        buttons = self.find("button.option, button.choice")
        for place in places:
            self.use(buttons[place])
        for button in self.find(".foot button"):
            self.use(button)

    def answer(self, places=(0,)):
        """Answer the question on the screen, and return what comes then."""
        here = self.where()
        assert here[0] == "question", here
        self.choose(places)
        return self.where(other_than=here)

    def finish(self, places=(0,), seen=lambda here: None):
        """Answer everything, and return the headings of all pages on the way; each new page is shown to a function."""
        headings = []
        here = self.where()
        for _ in range(200):
            seen(here)
            if here[0] == "question":
                here = self.answer(places)
                continue
            headings.append(here[1])
            if not self.find("button.main"):
                return headings
            here = self.go_on()
        raise AssertionError("it never ends")


def reach(browser, element):
    """Press Tab until an element has the focus."""
    for _ in range(100):
        if browser.execute_script("return document.activeElement === arguments[0]", element):
            return
        press(browser, "\ue004")
    raise AssertionError("Tab never gets there")
