"""Many runs of a learner in a simulated world, and what comes of them."""
