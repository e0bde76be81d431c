"""Processes that bound the mean of bounded rewards, or the size of Gaussian noise, from the rewards themselves.

Each is non-negative, starts at 1, and at the truth is a supermartingale whatever was played: what the general form of
Challenger's theorem asks of an arc (docs, "Unknown noise"). Several learners use them.
"""
