"""Noise that Challenger learns: bets on rewards in a range, the size of Gaussian noise, and what kernels need of both.

Read `learned.py` (arcs whose noise is learned, as kernels see them) over `betting.py` and `bernstein.py`,
then `floors.py` (rows of a check that can be left out); `gaussian_size.py` bounds one unknown sigma.
"""
