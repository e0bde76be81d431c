"""`study.trials`: the log as a frame of polars or pandas."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from surepath._optional import need
from surepath.errors import MissingExtraError
from surepath.study.sheets.rows import plan_columns, table

if TYPE_CHECKING:
    from surepath.study.study import Study

TIME_COLUMNS = ("asked", "told")
WHOLE_NUMBER_COLUMNS = ("number", "of")
TEXT_COLUMNS = ("state", "source", "worker", "note")


def trials_frame(study: Study) -> Any:
    """Return every trial as a row: columns number, state, source, of, worker, asked, told, note, plan.*, score.*.

    `of` is the trial that this one repeats or reports late; `asked` and `told` are times in UTC. Plans that wait come
    last, without a number.
    """
    try:
        return polars_frame(study)
    except MissingExtraError:
        pass
    try:
        return pandas_frame(study)
    except MissingExtraError:
        raise MissingExtraError(
            "a frame of trials needs polars or pandas, and neither is installed: pip install 'surepath[data]'; "
            "surepath study export writes them to a file without either"
        ) from None


def polars_frame(study: Study) -> Any:
    """Return the trials as a polars frame."""
    pl = need("polars", "data")
    data = table(study)
    kinds = {**dict.fromkeys(WHOLE_NUMBER_COLUMNS, pl.Int64), **dict.fromkeys(TIME_COLUMNS, pl.Datetime("us", "UTC"))}
    texts = {*TEXT_COLUMNS, *plan_columns(study.mdp)}
    schema = {name: kinds.get(name, pl.String if name in texts else pl.Float64) for name in data}
    for name in TIME_COLUMNS:
        data[name] = [_moment(value) for value in data[name]]
    return pl.DataFrame(data, schema=schema)


def pandas_frame(study: Study) -> Any:
    """Return the trials as a pandas frame."""
    pd = need("pandas", "data")
    data: dict[str, Any] = dict(table(study))
    texts = {*TEXT_COLUMNS, *plan_columns(study.mdp)}
    for name, values in data.items():
        if name in TIME_COLUMNS:
            data[name] = pd.to_datetime(pd.Series([_moment(value) for value in values]), utc=True)
        elif name in WHOLE_NUMBER_COLUMNS:
            data[name] = pd.array(values, dtype="Int64")
        elif name not in texts:
            data[name] = pd.Series(values, dtype="float64")
    return pd.DataFrame(data)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
