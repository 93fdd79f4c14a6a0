"""The picture of a report in the README and the tutorial: `python docs/_extensions/screenshot.py` makes it again.

The example study is fitted and its report opened in Chromium, which selenium drives: `docs/report.png` is what the
window shows. With a folder of results as its argument it shows that report.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PICTURE = Path(__file__).parents[1] / "report.png"
_WIDTH, _HEIGHT = 1200, 1710
_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run")


def report_of(folder: Path, results: Path | None) -> Path:
    """Write the report of the example study, or of results that there are, and return its file."""
    nearer = [sys.executable, "-m", "nearer.cli"]
    subprocess.run([*nearer, "example", str(folder / "study")], check=True)
    study = folder / "study"
    if results is None:
        results = study / "map"
        title = ["--title", "Musical instruments"]
        subprocess.run([*nearer, "fit", str(study / "answers.csv"), "-o", str(results), *title], check=True)
    page = folder / "report.html"
    colors = ["--attributes", str(study / "attributes.csv")]
    subprocess.run([*nearer, "report", str(results), *colors, "-o", str(page)], check=True)
    return page


def photograph(page: Path, picture: Path) -> None:
    """Write what a window shows that a page is opened in, colored by the first attribute if it has any."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import Select

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in _FLAGS:
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        size = {"width": _WIDTH, "height": _HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(page.as_uri())
        browser.find_element("id", "canvas").send_keys("n")  # the first object, with its neighbors
        colors = Select(browser.find_element("id", "color"))
        colors.select_by_index(len(colors.options[:2]) - 1)
        browser.execute_script("scrollTo(0, 0); document.activeElement.blur()")
        browser.execute_async_script("setTimeout(() => requestAnimationFrame(arguments[0]), 500)")
        browser.save_screenshot(str(picture))
    finally:
        browser.quit()


def lighter(picture: Path) -> None:
    """Write a picture again in 256 colors, spread over all that it has: others make grays of a few dots."""
    from PIL import Image

    with Image.open(picture) as image:
        few = image.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
        few.save(picture, optimize=True)


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        photograph(report_of(Path(place), Path(sys.argv[1]) if len(sys.argv) > 1 else None), PICTURE)
        lighter(PICTURE)
