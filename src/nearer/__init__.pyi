from .data.comparisons import Comparisons as Comparisons
from .data.streamed import ComparisonsFile as ComparisonsFile
from .optimize.problems.points import Penalty as Penalty

__version__: str
