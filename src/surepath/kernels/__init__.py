"""Compiled code that several rooms share, over plain arrays: no checks, no input or output."""
