"""The map in a notebook: small, by itself, and what labels hold is text."""

import html
import re

import numpy as np
import pytest
from helpers.browsing import PHONE, browser, chromium, sized  # noqa: F401

from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE, PosteriorEmbedding
from nearer.sampling import Microcanonical

EVIL = '"><script>alert(1)</script>&quot;'


@pytest.fixture(scope="module")
def model():
    names = np.array([EVIL, *(f"object {number}" for number in range(59))], dtype=object)
    answers = sample_triplets(make_gaussian(60, 3, random_state=0), 1500, random_state=0)
    return STE(3, random_state=0).fit(names[answers.rows])


def page_within(shown):
    (srcdoc,) = re.findall(r'srcdoc="([^"]*)"', shown)
    return html.unescape(srcdoc)


def test_it_is_under_200_kb_and_loads_nothing(model):
    shown = model.show({"kind": ["a", "b"] * 30})
    text = shown._repr_html_()
    assert len(text.encode()) < 200_000
    page = page_within(text)
    assert page == shown.page
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="(?!data:|#)', page)
    assert 'sandbox="allow-scripts allow-downloads"' in text


def test_labels_cannot_leave_the_frame_or_the_data(model):
    text = model.show()._repr_html_()
    assert text.count("<iframe") == 1
    assert "<script>alert" not in page_within(text)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ellipses_are_those_of_the_posterior():
    answers = sample_triplets(make_gaussian(6, 2, random_state=0), 60, random_state=0)
    short = Microcanonical(n_chains=2, n_warmup=200, n_steps=400, thin=20, n_starts=1, n_climb=20)
    model = PosteriorEmbedding(2, max_components=2, solver=short, random_state=0).fit(answers)
    assert '"covariances":[[' in model.show().page
    assert "holds its position with 90% confidence" in model.show(level=0.9).page


def test_a_column_of_another_length_is_refused(model):
    with pytest.raises(ValueError, match="'kind' has 2 values for 60 objects"):
        model.show({"kind": ["a", "b"]})


@pytest.mark.parametrize("size", [(1000, 800), PHONE])
def test_the_map_answers_to_keys_in_its_frame(model, tmp_path, browser, size):  # noqa: F811
    place = tmp_path / "notebook.html"
    place.write_text(f'<meta charset="utf-8"><h1>Notebook</h1>{model.show()._repr_html_()}', encoding="utf-8")
    sized(browser, size)
    browser.get(place.as_uri())
    browser.switch_to.frame(browser.find_element("tag name", "iframe"))
    canvas = browser.find_element("id", "canvas")
    canvas.send_keys("n")
    assert browser.find_element("id", "status").get_attribute("textContent").startswith(EVIL)
    canvas.send_keys("+")
    assert browser.find_element("id", "zoom-level").text.startswith("1.")
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    browser.switch_to.default_content()
