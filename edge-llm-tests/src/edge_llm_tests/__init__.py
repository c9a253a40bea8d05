"""The vocabulary of the edge toolkit: contracts, layers, evidence, and their evaluation.

Validation only: nothing here installs, repairs or writes. `edge_llm_tests.readers` does the only I/O.
"""

from edge_llm_tests.contract import Contract, Outcome, Result, contract, failed, passed, unknown
from edge_llm_tests.evaluate import Evaluation, Finding, evaluate
from edge_llm_tests.evidence import Recording
from edge_llm_tests.layer import Layer, load_layers

__all__ = [
    "Contract",
    "Evaluation",
    "Finding",
    "Layer",
    "Outcome",
    "Recording",
    "Result",
    "contract",
    "evaluate",
    "failed",
    "load_layers",
    "passed",
    "unknown",
]
