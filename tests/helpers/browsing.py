"""A real browser, driven by selenium: fingers, mouse and keys, and whether everybody can use what it shows."""

import functools
import shutil
import time
from importlib import resources

import pytest

PHONE, DESK = (390, 844), (1280, 800)
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--window-size=1280,900",
]  # fmt: skip


def start_browser(profile):
    """Return a new browser whose cookies and other memories are in a folder."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no browser here: install Debian's chromium and chromium-driver")
    pytest.importorskip("selenium", reason="the browser is driven by selenium: pip install selenium")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in [*FLAGS, f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    browser.get("about:blank")  # away from the page of new tabs, which asks for pictures of its own
    return browser


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A real browser, for all tests."""
    browser = start_browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.quit()


@pytest.fixture
def browser(chromium):
    """The browser as it is opened: wide, light, in motion, without cookies, and with an empty log."""
    for log in ("browser", "performance"):
        chromium.get_log(log)
    chromium.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    chromium.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    chromium.execute_cdp_cmd("Network.clearBrowserCookies", {})
    yield chromium
    chromium.get("about:blank")


def sized(browser, size):
    """Give the window the size of a phone, whose screen is touched, or of a desk."""
    width, height = size
    is_phone = width < 500
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone},
    )
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": is_phone, "maxTouchPoints": 1})


def eventually(found, seconds=60):
    """Return the first result that is not empty; what never comes fails."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := found():
            return value
        time.sleep(0.03)
    raise AssertionError("it never happened")


def press(browser, *keys):
    """Press keys, one after the other, wherever the focus is."""
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser, duration=0).send_keys(*keys).perform()


def click(browser, element):
    """Move the mouse to the middle of an element and click."""
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser, duration=0).move_to_element(element).click().perform()


def tap(browser, element):
    """Touch the middle of an element."""
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    box = browser.execute_script("return arguments[0].getBoundingClientRect().toJSON()", element)
    middle = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    for kind, points in (("touchStart", [middle]), ("touchEnd", [])):
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def errors_in(browser):
    """Return what the browser complained about since it was last asked."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def overflow(browser):
    """Return by how many pixels a page is wider than its window."""
    return browser.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")


def violations(browser):
    """Return what axe finds wrong for those who see, hear or move differently, by all its rules."""
    if not browser.execute_script("return 'axe' in window"):
        browser.execute_script(_axe())
    # What is being drawn has the colours of halfway.
    browser.execute_script("for (const each of document.getAnimations()) each.finish()")
    found = browser.execute_async_script(
        "const done = arguments[0];"
        "axe.run(document, {resultTypes: ['violations']})"
        ".then((told) => done(told.violations), (error) => done(`${error}`))"
    )
    assert isinstance(found, list), found
    return [f"{each['id']}: {node['html']} {node['failureSummary']}" for each in found for node in each["nodes"]]


@functools.cache
def _axe():
    pytest.importorskip("selenium_axe_python", reason="pages are judged by axe: pip install selenium-axe-python")
    return (resources.files("selenium_axe_python") / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
