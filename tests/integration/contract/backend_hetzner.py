"""Hetzner: a double with the rules of its documents."""

from restapi import hetzner

from .rrset_double import RrsetDouble


class Hetzner(RrsetDouble):
    name = "hetzner"
    secret_variable = "HCLOUD_TOKEN"

    def make(self):
        return hetzner.Hetzner()
