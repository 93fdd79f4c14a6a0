from .data.comparisons import Comparisons as Comparisons
from .data.file import ComparisonsFile as ComparisonsFile
from .optimize.problems.penalty import Penalty as Penalty

__version__: str
