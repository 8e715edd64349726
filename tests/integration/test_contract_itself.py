"""The contract suite is whole: no point is left out without a reason."""

import inspect
import re

import pytest

import test_contract_faults
import test_contract_records
import test_contract_scale
from contract.backend import Backend, backends

FILES = (test_contract_records, test_contract_faults, test_contract_scale)
# The fault that a point plants.
FAULT = re.compile(r"\.(fault_\w+)\(")


def points():
    """{point: its test}"""
    return {name[len("test_"):]: function for module in FILES
            for name, function in vars(module).items()
            if name.startswith("test_")}


@pytest.mark.parametrize("cls", backends(), ids=lambda c: c.__name__.lower())
def test_left_out_with_a_reason(cls):
    known = points()
    for point, reason in cls.not_applicable.items():
        assert point in known, f"{cls.__name__}: {point} is no point"
        assert len(reason.split()) >= 4, f"{cls.__name__}: why not {point}?"


@pytest.mark.parametrize("cls", backends(), ids=lambda c: c.__name__.lower())
def test_every_fault_is_there(cls):
    for point, function in points().items():
        if point in cls.not_applicable:
            continue
        for fault in FAULT.findall(inspect.getsource(function)):
            assert getattr(cls, fault) is not getattr(Backend, fault), (
                f"{cls.__name__} has no {fault} and does not excuse {point}")


def test_backends_are_found(root):
    names = {cls.name for cls in backends()}
    made = re.findall(r"^    row\((\w+)\)",
                      (root / "providers" / "provider.h").read_text(), re.M)
    assert made and names >= set(made), "a provider without a backend"
