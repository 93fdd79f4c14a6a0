"""Maps up to what comparisons cannot fix, place, turn and scale: the only place that turns maps.

`align` lays a map onto another. `rotate_to` and `varimax` turn a map such that its axes mean something. The rotations
themselves, as matrices Q for ``points @ Q``, are `axes_onto`, `axes_along` and `varimax_axes`; they turn covariances as
well: Q^T C Q.
"""

from nearer.geometry.axes import axes_along, axes_onto, rotate_to, varimax, varimax_axes
from nearer.geometry.maps import align
from nearer.geometry.maps import along_axes as along_axes
from nearer.geometry.maps import centred as centred
from nearer.geometry.maps import ellipses_of as ellipses_of
from nearer.geometry.maps import embedding_from_gram as embedding_from_gram
from nearer.geometry.maps import leading_spectrum as leading_spectrum
from nearer.geometry.maps import principal as principal
from nearer.geometry.maps import procrustes_error as procrustes_error
from nearer.geometry.maps import rotation as rotation
from nearer.geometry.maps import same_size as same_size
from nearer.geometry.maps import with_fixed_signs as with_fixed_signs

__all__ = ["align", "axes_along", "axes_onto", "rotate_to", "varimax", "varimax_axes"]
