"""Doubles of the REST APIs, with the rules that their documents give."""
