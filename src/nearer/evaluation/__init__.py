"""How far to trust a map: errors, folds, held-out error, dimension, ceiling, people, bootstrap, calibration."""
