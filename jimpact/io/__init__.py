"""Files larger than memory, and exported programs."""
