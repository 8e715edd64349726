"""A test double of Amazon Route 53, and what checks it from outside."""
