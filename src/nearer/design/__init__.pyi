from .active import (
    Asked as Asked,
)
from .active import (
    HonestError as HonestError,
)
from .active import (
    Outlook as Outlook,
)
from .active import (
    Questions as Questions,
)
from .active import (
    outlook as outlook,
)
from .mix import (
    QuestionMix as QuestionMix,
)
from .planning import (
    Design as Design,
)
from .planning import (
    NoiseEstimate as NoiseEstimate,
)
from .planning import (
    Plan as Plan,
)
from .planning import (
    PredictedError as PredictedError,
)
from .planning import (
    estimate_noise as estimate_noise,
)
from .planning import (
    plan as plan,
)
from .planning import (
    plot_plan as plot_plan,
)
from .planning import (
    predict_error as predict_error,
)
from .planning import (
    theorem_bound as theorem_bound,
)
from .planning import (
    theorem_excess as theorem_excess,
)
