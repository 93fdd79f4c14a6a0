"""How well models of the objects explain a map: correlations, a test, intervals and a noise ceiling."""
