"""The compiled parts of the theory: sweeps, path counts, and the game of the characteristic time."""
