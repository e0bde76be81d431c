"""Minimum flows on layered graphs: the compiled solver."""
