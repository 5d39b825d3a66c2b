"""Slow, obvious twins of the kernels in plain Python, written from the definitions; tests hold the two together."""
