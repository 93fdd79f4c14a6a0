"""Statistics of sounds: they know pitch, loudness and rhythm, and not the format of the file."""

import sys

import numpy as np
import pytest
from scipy.io import wavfile

from nearer.features import sound_features
from nearer.features.sounds import _MODULATION_HZ, _mel_filters, describe_sound, read_sound

RATE = 22_050
MEANS, SPREADS, CHANGES, LEVEL, DURATION = slice(0, 40), slice(40, 80), slice(80, 128), 128, 129


def tone(hertz=440.0, seconds=2.0, rate=RATE, pulse=0.0):
    time = np.arange(round(seconds * rate)) / rate
    depth = 0.9 if pulse else 0
    return 0.3 * np.sin(2 * np.pi * hertz * time) * (1 + depth * np.cos(2 * np.pi * pulse * time))


def center_of(band):
    return (_mel_filters()[band] * np.fft.rfftfreq(1024, 1 / RATE)).sum() / _mel_filters()[band].sum()


@pytest.mark.parametrize("hertz", [150, 440, 1000, 4000, 9000])
def test_the_loudest_band_is_that_of_the_tone(hertz):
    band = describe_sound(tone(hertz), RATE)[MEANS].argmax()
    assert abs(center_of(band) - hertz) < 0.12 * hertz + 30


@pytest.mark.parametrize("octave", range(1, 6))
def test_a_rhythm_is_in_its_octave(octave):
    rate = 1.4 * _MODULATION_HZ[octave]
    changes = describe_sound(tone(seconds=4, pulse=rate), RATE)[CHANGES].reshape(8, 6)
    assert changes.max(axis=0).argmax() == octave


def test_decibels_are_decibels():
    loud, quiet, long = (describe_sound(each, RATE) for each in (tone(), tone() / 10, tone(seconds=20)))
    np.testing.assert_allclose(loud[LEVEL] - quiet[LEVEL], 20, atol=1e-6)
    np.testing.assert_allclose(np.delete(loud, LEVEL), np.delete(quiet, LEVEL), atol=1e-6)
    np.testing.assert_allclose(long[DURATION] - loud[DURATION], 10)
    np.testing.assert_allclose(loud[LEVEL], 10 * np.log10(0.3**2 / 2), atol=1e-3)
    assert describe_sound(tone(pulse=4), RATE)[SPREADS].max() > describe_sound(tone(), RATE)[SPREADS].max() + 3


def test_blocks_of_a_long_sound_leave_no_trace(monkeypatch):
    sound = tone(seconds=3, pulse=2)
    whole = describe_sound(sound, RATE)
    monkeypatch.setattr("nearer.features.sounds._BLOCK_FRAMES", 7)
    np.testing.assert_allclose(describe_sound(sound, RATE), whole, atol=1e-9)


@pytest.mark.parametrize("sound", [np.zeros(5000), np.ones(1), tone(seconds=0.01)], ids=["silent", "click", "short"])
def test_sounds_at_the_edge_have_numbers(sound):
    described = describe_sound(sound, RATE)
    assert described.shape == (130,)
    assert np.isfinite(described).all()


def test_the_format_of_a_file_is_no_matter(tmp_path):
    signal = tone(seconds=1, pulse=3)
    stereo = np.column_stack([signal, signal])
    wavfile.write(tmp_path / "float.wav", RATE, signal.astype(np.float32))
    wavfile.write(tmp_path / "int16.wav", RATE, np.round(signal * 32767).astype(np.int16))
    wavfile.write(tmp_path / "int32.wav", RATE, np.round(stereo * (2**31 - 1)).astype(np.int32))
    wavfile.write(tmp_path / "double.wav", 2 * RATE, tone(seconds=1, rate=2 * RATE, pulse=3))
    wavfile.write(tmp_path / "byte.wav", RATE, np.round(signal * 127 + 128).astype(np.uint8))
    features = sound_features(tmp_path)
    assert features.objects.tolist() == ["byte", "double", "float", "int16", "int32"]
    byte, double, exact, *others = features.values
    for other in others:
        np.testing.assert_allclose(other, exact, atol=0.02)
    loud = exact[MEANS] > -30  # rounding to a byte is a noise of its own
    np.testing.assert_allclose(byte[MEANS][loud], exact[MEANS][loud], atol=1)
    np.testing.assert_allclose(double[MEANS][loud], exact[MEANS][loud], atol=1)


@pytest.mark.parametrize("ending", ["flac", "ogg", "mp3", "aiff"])
def test_other_formats_are_read(tmp_path, ending):
    soundfile = pytest.importorskip("soundfile")
    signal = tone(seconds=1)
    soundfile.write(tmp_path / f"a.{ending}", signal, RATE)
    samples, rate = read_sound(tmp_path / f"a.{ending}")
    assert rate == RATE
    described, exact = describe_sound(samples, rate), describe_sound(signal, RATE)
    assert described[MEANS].argmax() == exact[MEANS].argmax()
    np.testing.assert_allclose(described[LEVEL], exact[LEVEL], atol=0.5)


def test_broken_sounds_are_named(tmp_path):
    (tmp_path / "text.wav").write_text("no sound")
    wavfile.write(tmp_path / "empty.wav", RATE, np.zeros(0, dtype=np.int16))
    wavfile.write(tmp_path / "good.wav", RATE, tone().astype(np.float32))
    wavfile.write(tmp_path / "nan.wav", RATE, np.full(5, np.nan, dtype=np.float32))
    with pytest.raises(ValueError, match=r"3 of 4 sounds cannot be read: 'empty.wav' .*'nan.wav' .*'text.wav'"):
        sound_features(tmp_path)
    with pytest.warns(UserWarning, match="3 of 4 sounds"):
        assert sound_features(tmp_path, skip_bad=True).objects.tolist() == ["good"]


def test_one_command_installs_what_is_missing(tmp_path, monkeypatch):
    (tmp_path / "a.flac").write_bytes(b"fLaC")
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(ModuleNotFoundError, match=r"reading .flac .*pip install soundfile"):
        sound_features(tmp_path)
