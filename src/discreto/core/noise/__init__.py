"""Noise: how much of it a question needs, and exact draws of it.

``calibration`` says how much, ``gaussian`` what a rho is worth, ``sampler`` draws exact
integers (``sampler_exact`` decides where floats cannot), ``entropy`` has the bits.
"""
