"""The array types that everything is written in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Int32Array = NDArray[np.int32]
Uint32Array = NDArray[np.uint32]
Uint64Array = NDArray[np.uint64]
AnyArray = NDArray[Any]
