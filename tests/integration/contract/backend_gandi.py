"""Gandi: a double with the rules of its documents."""

from restapi import gandi

from .rrset_double import RrsetDouble


class Gandi(RrsetDouble):
    name = "gandi"
    secret_variable = "GANDI_PERSONAL_ACCESS_TOKEN"
    ttls = (300, 600, 900)
    not_applicable = {
        **RrsetDouble.not_applicable,
        "budget_spent": "its answers say nothing of a budget, only 429 does",
    }

    def make(self):
        return gandi.Gandi()
