"""Features of whatever is in a folder: which kind it is, and what can be done about kinds that cannot be served."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nearer._common.formatting import intcomma, pluralize, quote_all
from nearer._common.progress import warn_caller
from nearer.data.features import Features
from nearer.features.images import IMAGE_ENDINGS, image_features
from nearer.features.sounds import SOUND_ENDINGS, sound_features
from nearer.features.sources import Paths, files_in, labels_of
from nearer.features.words import TABLE_ENDINGS, read_words, word_features
from nearer.io.delimited import as_text, read_bytes

_ENDINGS = {"image": IMAGE_ENDINGS, "sound": SOUND_ENDINGS, "words": TABLE_ENDINGS}
_REMEDIES = {
    **dict.fromkeys((".mp4", ".mov", ".avi", ".mkv", ".webm"), "save a frame of each video as a picture"),
    **dict.fromkeys((".heic", ".heif", ".avif", ".svg", ".eps", ".raw", ".psd"), "save them as PNG or JPEG"),
    **dict.fromkeys((".m4a", ".aac", ".wma"), "save them as WAV"),
    **dict.fromkeys((".pdf", ".docx", ".pptx"), "save pages as pictures, or texts in a table"),
}


def features_from(source: Paths, *, column: str | None = None, skip_bad: bool = False) -> Features:
    """Return features of the pictures or sounds in a folder or in files, or of words in a list.

    Parameters
    ----------
    source : path or paths
        A folder, whose folders are searched, too; files; or one list or table of words. Several text files are a text
        each.
    column : str, optional
        The column of texts in a table, if it has several.
    skip_bad : bool, default=False
        Leave out files that cannot be read, with a warning, rather than refuse them.

    Returns
    -------
    Features

    See Also
    --------
    image_features, sound_features, word_features
    """
    paths = files_in(source)
    kinds = Counter(_kind_of(path) for path in paths)
    if kinds["image"] and kinds["sound"]:
        raise ValueError(
            f"there are {pluralize(kinds['image'], 'picture')} and {pluralize(kinds['sound'], 'sound')}; make features "
            "of each kind by itself: name the files of one"
        )
    if kinds["image"] or kinds["sound"]:
        _warn_unserved(paths)
    if kinds["image"]:
        pictures = [path for path in paths if _kind_of(path) == "image"]
        return image_features(pictures, skip_bad=skip_bad)
    if kinds["sound"]:
        return sound_features([path for path in paths if _kind_of(path) == "sound"], skip_bad=skip_bad)
    tables = [path for path in paths if _kind_of(path) == "words"]
    if len(tables) == len(paths) == 1:
        return word_features(*read_words(tables[0], column))
    if tables and all(path.suffix.lower() == ".txt" for path in paths):
        return word_features([as_text(read_bytes(path), path.name) for path in paths], labels_of(paths))
    raise ValueError(_nothing_to_serve(paths))


def _warn_unserved(paths: Sequence[Path]) -> None:
    """Name files that are objects, too, from the looks of them, but of a kind that cannot be served."""
    unserved = [path for path in paths if path.suffix.lower() in _REMEDIES]
    if unserved:
        warn_caller(
            f"{pluralize(len(unserved), 'file')} of kinds that cannot be read and have no features: "
            f"{quote_all([path.name for path in unserved])}; {_REMEDIES[unserved[0].suffix.lower()]}"
        )


def _kind_of(path: Path) -> str:
    ending = path.suffix.lower()
    return next((kind for kind, endings in _ENDINGS.items() if ending in endings), "other")


def _nothing_to_serve(paths: Sequence[Path]) -> str:
    """Return which kinds of files were found, and what can be done about them."""
    endings = Counter(path.suffix.lower() or "no ending" for path in paths)
    found = ", ".join(f"{intcomma(count)} {ending}" for ending, count in endings.most_common(5))
    remedy = next((_REMEDIES[ending] for ending, _ in endings.most_common() if ending in _REMEDIES), None)
    return (
        f"features can be made of pictures ({' '.join(IMAGE_ENDINGS)}), of sounds ({' '.join(SOUND_ENDINGS)}), and of "
        f"words in one file (.txt with one on each line, or a table); here are {found}. "
        f"{'' if remedy is None else remedy[0].upper() + remedy[1:] + ', or '}{'m' if remedy else 'M'}ake vectors with "
        "a model of your own, in a CSV with a column of labels and a column for each number"
    )
