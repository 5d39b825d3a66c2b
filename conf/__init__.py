"""Hydra configuration; a package so that ``pkg://twin_gym.conf`` finds the files in an installed twin_gym."""
