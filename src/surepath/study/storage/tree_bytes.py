"""A tree of numbers, texts and arrays as bytes: a JSON text and NumPy's own format, never a pickle."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

ENCODING_FORMAT = 1
_TREE = "tree"


def encode(tree: Any) -> bytes:
    """Write a tree of dicts, lists, numbers, texts, None and arrays."""
    arrays: dict[str, Any] = {}

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            key = f"a{len(arrays)}"
            arrays[key] = value
            return {"$array": key}
        if isinstance(value, dict):
            return {str(key): plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        return value.item() if isinstance(value, np.generic) else value

    text = json.dumps(plain(tree))
    file = io.BytesIO()
    arrays[_TREE] = np.frombuffer(text.encode(), dtype=np.uint8)
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def decode(content: bytes) -> Any:
    """Read what `encode` wrote."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:

        def rich(value: Any) -> Any:
            if isinstance(value, dict):
                if value.keys() == {"$array"}:
                    return file[value["$array"]]
                return {key: rich(item) for key, item in value.items()}
            return [rich(item) for item in value] if isinstance(value, list) else value

        return rich(json.loads(file[_TREE].tobytes()))
