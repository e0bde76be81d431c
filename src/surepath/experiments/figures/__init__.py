"""The paper's figures, one file each with its experiment, its panels and its claims."""
