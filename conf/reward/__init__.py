"""Rewards that `reward=NAME` can name; a package so that Hydra finds the files in an installed twin_gym."""
