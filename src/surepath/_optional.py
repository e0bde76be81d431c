"""Optional dependencies: import them late, and name the extra when one is missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from surepath.errors import MissingExtraError


def need(module: str, extra: str) -> ModuleType:
    """Import an optional module, or say which extra brings it.

    Args:
        module: Dotted name of the module.
        extra: The extra of this package that installs it.

    Example:
        >>> need("json", "data").__name__
        'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        top = module.partition(".")[0]
        raise MissingExtraError(
            f"this needs {top}, which is not installed: pip install 'surepath[{extra}]', "
            f"or '.[{extra}]' in a copy of the repository"
        ) from error
