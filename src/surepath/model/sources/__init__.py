"""Ways into a problem: tables, rows, steps, files, graphs, environments."""
