"""The contract that every provider fulfils, as tests: see backend.py."""
