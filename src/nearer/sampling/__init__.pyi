from .convergence import Convergence as Convergence
from .microcanonical import Microcanonical as Microcanonical
from .model import Draws as Draws
from .model import Prior as Prior
from .nuts import NUTS as NUTS
from .summaries import Diagnosis as Diagnosis
from .summaries import diagnose as diagnose
from .variational import Variational as Variational
