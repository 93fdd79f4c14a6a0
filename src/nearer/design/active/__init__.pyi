from .asked import Asked as Asked
from .honest import HonestError as HonestError
from .questions import Questions as Questions
from .stopping import (
    Outlook as Outlook,
)
from .stopping import (
    outlook as outlook,
)
