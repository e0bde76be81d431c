"""Grids of (instance, learner, epsilon, seed): spec, runner, back ends, results, the paper's figures."""
