"""Whether kernels are compiled in this process: not under NUMBA_DISABLE_JIT=1."""

from __future__ import annotations

import numba
import pytest

COMPILED = not numba.config.DISABLE_JIT
compiled_only = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
