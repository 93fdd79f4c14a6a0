"""A real browser, driven by selenium."""

import shutil

import pytest

FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--window-size=1280,900",
]  # fmt: skip


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A real browser, driven by selenium."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no browser here: install Debian's chromium and chromium-driver")
    pytest.importorskip("selenium", reason="the browser is driven by selenium: pip install selenium")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    browser.get("about:blank")  # away from the page of new tabs, which asks for pictures of its own
    yield browser
    browser.quit()


@pytest.fixture
def browser(chromium):
    """The browser as it is opened: wide, light, in motion; and nothing in its log that a page has not put there."""
    for log in ("browser", "performance"):
        chromium.get_log(log)
    chromium.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    chromium.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    yield chromium
    chromium.get("about:blank")
