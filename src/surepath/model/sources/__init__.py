"""What a problem can be built from: tables, rows, steps, files, graphs, environments."""
