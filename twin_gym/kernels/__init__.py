"""Numba kernels: arrays in, arrays out; no Python objects, no files, no configuration."""
