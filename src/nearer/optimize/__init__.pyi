from .solvers import (
    ADMM as ADMM,
)
from .solvers import (
    SVRG as SVRG,
)
from .solvers import (
    ClosedForm as ClosedForm,
)
from .solvers import (
    Factored as Factored,
)
from .solvers import (
    FactoredOnDevice as FactoredOnDevice,
)
from .solvers import (
    Outcome as Outcome,
)
from .solvers import (
    Paper as Paper,
)
from .solvers import (
    Progress as Progress,
)
from .solvers import (
    Projected as Projected,
)
from .solvers import (
    Restarts as Restarts,
)
from .solvers import (
    Shrinkage as Shrinkage,
)
from .solvers import (
    Solution as Solution,
)
from .solvers import (
    Solver as Solver,
)
from .solvers import (
    nearest_psd as nearest_psd,
)
from .solvers import (
    solve as solve,
)
