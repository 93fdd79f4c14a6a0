from .diagnostics import (
    Diagnosis as Diagnosis,
)
from .diagnostics import (
    diagnose as diagnose,
)
from .microcanonical import Microcanonical as Microcanonical
from .model import (
    Draws as Draws,
)
from .model import (
    Prior as Prior,
)
from .nuts import NUTS as NUTS
from .variational import Variational as Variational
