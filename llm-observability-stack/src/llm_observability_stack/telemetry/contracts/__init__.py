"""The promises of telemetry, in the order of the ladder."""

from llm_observability_stack.telemetry.contracts import alerting, collecting, scraping

__all__ = ["CONTRACTS"]

CONTRACTS = (*collecting.CONTRACTS, *scraping.CONTRACTS, *alerting.CONTRACTS)
