"""What the data say about what was declared: noise, additivity, steadiness. It never changes a decision; it tells."""

from surepath.learners.watch.findings import Finding, headline
from surepath.learners.watch.watch import Watch

__all__ = ["Finding", "Watch", "headline"]
