from .annotators import (
    AnnotatorReliability as AnnotatorReliability,
)
from .annotators import (
    annotator_reliability as annotator_reliability,
)
from .annotators import (
    reliability_weights as reliability_weights,
)
from .calibration import (
    ReliabilityCurve as ReliabilityCurve,
)
from .calibration import (
    expected_calibration_error as expected_calibration_error,
)
from .calibration import (
    reliability_curve as reliability_curve,
)
from .ceiling import (
    NoiseCeiling as NoiseCeiling,
)
from .ceiling import (
    noise_ceiling as noise_ceiling,
)
from .curves import (
    LearningCurve as LearningCurve,
)
from .curves import (
    learning_curve as learning_curve,
)
from .dimension import (
    DimensionChoice as DimensionChoice,
)
from .dimension import (
    choose_dimension as choose_dimension,
)
from .distances import (
    Distances as Distances,
)
from .distances import (
    distance_matrix as distance_matrix,
)
from .folds import WholeKFold as WholeKFold
from .held_out import (
    HeldOutError as HeldOutError,
)
from .held_out import (
    held_out_error as held_out_error,
)
from .metrics import (
    MarginStatistics as MarginStatistics,
)
from .metrics import (
    accuracy_scorer as accuracy_scorer,
)
from .metrics import (
    comparison_error as comparison_error,
)
from .metrics import (
    error_from_margins as error_from_margins,
)
from .metrics import (
    margin_statistics as margin_statistics,
)
from .metrics import (
    margins as margins,
)
from .metrics import (
    neg_log_loss_scorer as neg_log_loss_scorer,
)
from .metrics import (
    pair_distances as pair_distances,
)
from .metrics import (
    procrustes_error as procrustes_error,
)
from .metrics import (
    soft_error as soft_error,
)
from .reproducibility import (
    DISTANCES_FAIR as DISTANCES_FAIR,
)
from .reproducibility import (
    DISTANCES_GOOD as DISTANCES_GOOD,
)
from .reproducibility import (
    SplitHalf as SplitHalf,
)
from .reproducibility import (
    ellipse_size as ellipse_size,
)
from .reproducibility import (
    split_half as split_half,
)
from .uncertainty import (
    Bootstrap as Bootstrap,
)
from .uncertainty import (
    bootstrap as bootstrap,
)
