"""Speed against other tools, as ratios taken in one run."""
