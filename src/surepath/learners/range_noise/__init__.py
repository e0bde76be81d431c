"""Empirical Bernstein, which several learners use: bounds on the mean of rewards in a range, from the rewards alone.

The process is non-negative, starts at 1, and at the truth is a supermartingale whatever was played: what the general
form of Challenger's theorem asks of an arc (docs, "Unknown noise"). Those that Challenger alone uses are in
`challenger/noise/`.
"""
