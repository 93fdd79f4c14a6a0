from .folder import begin_study as begin_study
from .folder import end_study as end_study
from .folder import keep_study as keep_study
from .folder import read_results as read_results
from .methods import METHOD_CLASSES as METHOD_CLASSES
from .settings import RunSettings as RunSettings
from .study import Study as Study
from .study import fit_study as fit_study
