"""Pictures: `data` computes what is drawn, `draw` draws it."""
