"""Rules that bound the difference of two paths: clearing (stop), elimination, the separating sampling rule."""
