"""Statistics of the spectra of sounds.

A sound is described by what it sounds like on average and how that changes, not by what it is: levels in bands of
frequency as wide as those of hearing (mel), their spread over time, and how fast they go up and down. McDermott and
Simoncelli (2011) made recognizable textures of such statistics.
"""

from __future__ import annotations

import warnings
from math import gcd
from pathlib import Path
from typing import TypeAlias

import numpy as np

from nearer._common.arrays import FloatArray
from nearer.data.features import Features
from nearer.features.sources import Paths, files_in, read_each

SOUND_ENDINGS = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff")
Sound: TypeAlias = tuple[FloatArray, int]

_RATE = 22_050  # samples a second
_WINDOW, _HOP = 1024, 256  # samples
_BLOCK_FRAMES = 4096  # at once, or an hour of sound would take gigabytes
_N_BANDS = 40
_LOWEST_HZ, _HIGHEST_HZ = 50.0, 11_000.0
_FLOOR_DB = -80.0  # below the loudest moment, where quiet becomes silence
_MODULATION_HZ = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_BANDS_PER_GROUP = 5
_MODULATION_FLOOR_DB = -20.0  # power of 0.01 dB^2, which is a constant level
_DECIMALS = 4


def sound_features(files: Paths, *, skip_bad: bool = False) -> Features:
    """Return statistics of the spectra of sounds, 130 numbers each, all in decibels.

    They are the mean and the standard deviation of the level in each of 40 mel bands from 50 Hz to 11 kHz; the power of
    its changes at 0.5 to 32 Hz, in octaves, for eight groups of bands; the level of the sound and its duration. Levels
    in bands are relative to that of the sound.

    Parameters
    ----------
    files : path or paths
        Sounds (WAV, FLAC, Ogg, MP3, AIFF), or folders of them. All but WAV need soundfile:
        ``pip install soundfile``.
    skip_bad : bool, default=False
        Leave out files that cannot be read, with a warning, rather than refuse them.

    Returns
    -------
    Features
        Labels are the names of files without their endings; with folders and endings if two share a name.
    """
    labels, rows = read_each(
        files_in(files, SOUND_ENDINGS), "sound", lambda path: describe_sound(*read_sound(path)), skip_bad
    )
    return Features(np.round(rows, _DECIMALS), labels, "sounds (statistics of spectra)")


def read_sound(path: Path) -> Sound:
    """Return the samples of a sound, channels averaged, full scale at 1, and how many there are a second."""
    samples, rate = _read_wav(path) if path.suffix.lower() == ".wav" else _read_other(path)
    mono = samples.mean(axis=1) if samples.ndim == 2 else samples
    if len(mono) == 0:
        raise ValueError("it has no samples")
    if not np.isfinite(mono).all():
        raise ValueError("it has samples that are no finite numbers")
    return mono, rate


def _read_wav(path: Path) -> Sound:
    from scipy.io import wavfile

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wavfile.WavFileWarning)  # chunks of text, which many programs write
            rate, samples = wavfile.read(path)
    except (ValueError, EOFError, KeyError, IndexError, ArithmeticError) as error:
        raise ValueError(f"no WAV file that can be read: {error}") from error
    if samples.dtype.kind == "u":  # 8 bits are unsigned in WAV files
        return (samples.astype(np.float64) - 128) / 128, rate
    scale = 1.0 if samples.dtype.kind == "f" else float(np.iinfo(samples.dtype).max)
    return samples.astype(np.float64) / scale, rate


def _read_other(path: Path) -> Sound:
    try:
        import soundfile
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"reading {path.suffix} needs soundfile: pip install soundfile, or save sounds as WAV",
            name=error.name,
        ) from error
    try:
        samples, rate = soundfile.read(path)
    except (soundfile.LibsndfileError, TypeError) as error:
        raise ValueError(f"no sound that can be read: {error}") from error
    return samples, int(rate)


def describe_sound(samples: FloatArray, rate: int) -> FloatArray:
    """Return the statistics of one sound, (130,)."""
    from scipy.signal import resample_poly

    if rate != _RATE:
        shared = gcd(rate, _RATE)
        samples = resample_poly(samples, _RATE // shared, rate // shared)
    loudness = _decibels(np.float64(np.mean(samples**2)), 1e-10)
    levels = _band_levels(samples)
    return np.concatenate(
        [
            levels.mean(axis=0) - loudness,
            levels.std(axis=0),
            _modulation(levels).ravel(),
            [loudness, 10 * np.log10(len(samples) / _RATE)],
        ]
    )


def _decibels(power: FloatArray | np.float64, least: float) -> FloatArray:
    decibels: FloatArray = 10 * np.log10(np.maximum(power, least))
    return decibels


def _band_levels(samples: FloatArray) -> FloatArray:
    """Return the level in each mel band at each moment, (moments, bands), in decibels."""
    padded = np.pad(samples, (0, max(_WINDOW - len(samples), 0)))
    frames = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP]
    filters, window = _mel_filters().T, np.hanning(_WINDOW)
    blocks = (frames[at : at + _BLOCK_FRAMES] for at in range(0, len(frames), _BLOCK_FRAMES))
    power = np.concatenate([np.abs(np.fft.rfft(block * window)) ** 2 @ filters / _WINDOW for block in blocks])
    return _decibels(power, max(power.max() * 10 ** (_FLOOR_DB / 10), 1e-10))


def _mel_filters() -> FloatArray:
    """Return the weight of each frequency in each band, (bands, frequencies): triangles as wide on the mel scale."""
    lowest, highest = (2595 * np.log10(1 + hertz / 700) for hertz in (_LOWEST_HZ, _HIGHEST_HZ))
    edges = np.linspace(lowest, highest, _N_BANDS + 2)
    hertz = 700 * (10 ** (edges / 2595) - 1)
    # A band may be narrower than the distance of two frequencies: then it takes from both by their distance to it.
    frequencies = np.fft.rfftfreq(_WINDOW, 1 / _RATE)
    step = frequencies[1]
    low, center, high = hertz[:-2, None], hertz[1:-1, None], hertz[2:, None]
    rising = (frequencies - low) / np.maximum(center - low, step)
    falling = (high - frequencies) / np.maximum(high - center, step)
    return np.clip(np.minimum(rising, falling), 0, None)


def _modulation(levels: FloatArray) -> FloatArray:
    """Return how much the level of each group of bands changes at each of six rates, (groups, rates), in decibels."""
    groups = levels.reshape(len(levels), -1, _BANDS_PER_GROUP).mean(axis=2)
    rate = _RATE / _HOP
    n_moments = max(len(groups), int(np.ceil(2 * rate)))  # short sounds are padded to two seconds of their mean
    changes = (groups - groups.mean(axis=0)) * np.hanning(len(groups) + 2)[1:-1, None]
    power = np.abs(np.fft.rfft(changes, n_moments, axis=0)) ** 2 / (len(groups) * n_moments)
    hertz = np.fft.rfftfreq(n_moments, 1 / rate)
    octaves = [power[(hertz >= low) & (hertz < 2 * low)].sum(axis=0) for low in _MODULATION_HZ[:-1]]
    return _decibels(np.array(octaves).T, 10 ** (_MODULATION_FLOOR_DB / 10))
