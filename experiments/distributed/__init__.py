"""One batch, several processes."""
