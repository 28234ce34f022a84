"""Verification of one machine: shardsim's laws on the topology, the mesh and the sizes of a user.

Random cases, the same for the same seed. Simulated times against closed forms; guidelines of the
MPI literature; bytes on the links; real numbers through the step programs. What breaks a law is
made as small as can be, and printed as a command line.

    machine.py      what is verified, and variants of it
    cases.py        random cases, and smaller ones
    simulating.py   runs within a budget
    relations.py    simulated against closed form, bytes on the links
    guidelines.py   laws between one time and another
    movement.py     real numbers
    running.py      all of it
    records.py      what was found
"""

from shardsim.verification.machine import Machine, find_machine
from shardsim.verification.records import Breach, Busiest, Check, Side, Verification
from shardsim.verification.running import CASES, SEED, verify_machine

__all__ = [
    "CASES",
    "SEED",
    "Breach",
    "Busiest",
    "Check",
    "Machine",
    "Side",
    "Verification",
    "find_machine",
    "verify_machine",
]
