"""deSEC: a double with the rules of its documents; its domain takes TTLs
from 60 on, as support grants on request."""

from restapi import desec

from .rrset_double import RrsetDouble


class Desec(RrsetDouble):
    name = "desec"
    secret_variable = "DESEC_TOKEN"
    paged = 1100
    writes_for_1000 = 1
    not_applicable = {
        **RrsetDouble.not_applicable,
        "budget_spent": "its answers say nothing of a budget, only 429 does",
    }

    def make(self):
        return desec.Desec()
