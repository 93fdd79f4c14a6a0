"""Which question to ask next, so that the fewest answers make the map.

Data flows one way: pool (what may be asked) -> record (what was asked and answered) -> posterior -> acquisition (the
most informative questions) -> errors (held out and expected) -> lookahead (what the next answers would bring) ->
stopping; `nearer.design.Questions` is the interface.
"""
