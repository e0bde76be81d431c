"""The strongest challengers of the current plan."""

from __future__ import annotations

import textwrap
from typing import Any, NamedTuple

from surepath._text import shown
from surepath.errors import SettingError
from surepath.model.mdp import MDP
from surepath.model.plans import plan_in_words
from surepath.plots.column_figure import FAINT, INK, OTHER, PLAN, SMALL_TEXT, WANTED, below, new_axes, new_figure
from surepath.plots.evidence import known

READING = (
    "Each line is another plan: the dot says by how much its estimate is below that of the current plan, the right end "
    "how much better it may still be. The search ends when no line goes beyond what was asked for."
)


class Difference(NamedTuple):
    """One step at which a challenger differs from the current plan."""

    step: str
    option: str
    instead_of: str
    visits: int
    current_visits: int
    same_option: bool  # the same option, met in another state


class Challenge(NamedTuple):
    """One challenger of the current plan: where it differs, and how much better it may be."""

    path: list[int]
    differs: list[Difference]
    estimate: float  # its estimate minus that of the current plan; at most 0
    bound: float  # how much better it may be

    @property
    def words(self) -> str:
        """Return the options at which it differs: 'model=small, prompt=long'."""
        return plan_in_words({one.step: one.option for one in self._own})

    @property
    def options(self) -> str:
        """Return the options at which it differs without their steps, short enough for a picture."""
        return ", ".join(one.option for one in self._own)

    @property
    def _own(self) -> list[Difference]:
        return [one for one in self.differs if not one.same_option] or self.differs


class Challenges(NamedTuple):
    """The current plan against its challengers."""

    rivals: list[Challenge]
    gap: float
    epsilon: float


def differences(mdp: MDP, visits: Any, incumbent: list[int], path: list[int]) -> list[Difference]:
    """List the steps at which two plans differ."""
    steps = mdp.step_labels or tuple(f"step {h}" for h in range(mdp.horizon))
    return [
        Difference(
            step=str(steps[h]),
            option=mdp.action_label(theirs),
            instead_of=mdp.action_label(ours),
            visits=int(visits[theirs]),
            current_visits=int(visits[ours]),
            same_option=bool(mdp.action[theirs] == mdp.action[ours]),
        )
        for h, (theirs, ours) in enumerate(zip(path, incumbent))
        if theirs != ours
    ]


def challengers_data(source: Any, count: int = 6) -> Challenges:
    """Return the strongest challengers of a study or of a learner that has them.

    Args:
        source: A study whose learner is Challenger, or a Challenger.
        count: How many.
    """
    found = known(source)
    if found.learner is None:
        raise SettingError("a certificate names no challengers; take the study")
    if not hasattr(found.learner, "explain"):
        raise SettingError(f"{found.learner.name} bounds each option by itself and has no challengers to name")
    said = found.learner.explain(count)
    rivals = [
        Challenge(
            rival.path,
            differences(found.mdp, found.visits, said.incumbent, rival.path),
            -abs(float(rival.estimate)),
            float(rival.bound),
        )
        for rival in said.rivals
    ]
    return Challenges(rivals, found.gap, found.epsilon)


def draw_challengers(data: Challenges) -> Any:
    """Draw a line for each challenger, from its estimate to its upper bound; returns a matplotlib figure."""
    rows = len(data.rivals)
    figure = new_figure(0.95 + 0.42 * max(1, rows))
    axis = new_axes(figure, "better than the current plan by")
    axis.axvline(0.0, color=INK, linewidth=0.8)
    handles = [axis.axvline(data.epsilon, color=WANTED, linestyle="--", linewidth=1.2, label="asked for")]
    for row, rival in enumerate(data.rivals):
        colour = OTHER if rival.bound > data.epsilon else PLAN
        axis.plot([rival.estimate, rival.bound], [row, row], color=colour, linewidth=1.8)
        axis.plot([rival.estimate], [row], "o", color=colour, markersize=4)
        axis.plot([rival.bound], [row], "|", color=colour, markersize=8, markeredgewidth=1.8)
        text = "\n".join(textwrap.wrap(shown(rival.options), 66, max_lines=2, placeholder="..."))
        axis.annotate(
            text, (0.0, row), xycoords=("axes fraction", "data"), xytext=(2, 4), textcoords="offset points",
            fontsize=6, color=FAINT, parse_math=False,
        )  # fmt: skip
    if not rows:
        axis.annotate("no challengers to name", (0.05, 0.5), xycoords="axes fraction", fontsize=SMALL_TEXT, color=OTHER)
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.set_ylim(rows - 0.5, -0.9)
    axis.grid(visible=False, axis="y")
    below(figure, handles)
    return figure
