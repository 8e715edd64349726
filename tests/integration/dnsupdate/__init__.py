"""Name servers that take dynamic updates, and a relay that can misbehave."""
