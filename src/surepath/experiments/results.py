"""Reading the rows of an experiment, whole or lazily."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from surepath._optional import need
from surepath.errors import SettingError
from surepath.experiments.store import ROWS, Store, is_whole, key_of

if TYPE_CHECKING:
    import polars


def scan(folder: str | Path) -> polars.LazyFrame:
    """Open the rows of an experiment as a lazy polars frame, for experiments larger than memory."""
    pl = need("polars", "data")
    store = Store(folder)
    manifest = store.manifest()
    files = sorted(file for file in store.rows.glob("*.parquet") if key_of(file) in manifest["cells"])
    if not files:
        raise SettingError(f"{store.folder} holds no rows yet")
    for file in files:
        if not is_whole(file):
            raise SettingError(f"{file} is damaged; play its runs again with surepath experiment run --resume")
    found: polars.LazyFrame = pl.scan_parquet(files).filter(pl.col("run") < manifest["spec"]["runs"])
    return found


def read(folder: str | Path) -> polars.DataFrame:
    """Read the rows of an experiment as a polars frame, in order of cell, run and falling epsilon."""
    pl = need("polars", "data")
    rows = scan(folder)
    try:
        return rows.collect().sort("cell", "run", "epsilon", descending=[False, False, True])
    except (pl.exceptions.PolarsError, OSError) as cause:
        reason = str(cause).strip().splitlines()[0]
        raise SettingError(
            f"rows in {Path(folder) / ROWS} cannot be read ({reason}); delete the damaged file and play its runs again "
            f"with surepath experiment run --resume"
        ) from None
