from .inline import InlineMap as InlineMap
from .inline import show_map as show_map
from .page import write_report as write_report
