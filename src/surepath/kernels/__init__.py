"""Compiled code that several packages share, over plain arrays: no checks, no input or output."""
