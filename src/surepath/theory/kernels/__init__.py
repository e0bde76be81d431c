"""The compiled parts of the theory: path counts, excursions, and the game of the characteristic time."""
