"""One rule, one file: sampling, elimination, stopping, recommendation."""
