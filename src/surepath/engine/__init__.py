"""How it is computed: Numba kernels over plain arrays; no checks, no input or output."""
