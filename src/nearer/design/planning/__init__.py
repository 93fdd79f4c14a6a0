"""How many answers a study needs: simulated studies, and the theorem of the paper."""
