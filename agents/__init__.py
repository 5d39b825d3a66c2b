"""Who decides: baselines, training and evaluation of learned policies."""
