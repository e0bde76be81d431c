"""Experiments: grids of simulations over instances, learners, epsilons and seeds, and the paper's figures."""
