"""The promises of serving, in the order of the ladder."""

from llm_observability_stack.serving.contracts.container import image, running
from llm_observability_stack.serving.contracts.model import loadable, present, resident
from llm_observability_stack.serving.contracts.placement import gpu_request, memory_limit, scheduled, workload
from llm_observability_stack.serving.contracts.reach import answers, endpoints, web_ui
from llm_observability_stack.serving.where import located

__all__ = ["CONTRACTS"]

CONTRACTS = tuple(
    located(each)
    for each in (
        workload,
        gpu_request,
        scheduled,
        image,
        running,
        memory_limit,
        endpoints,
        answers,
        web_ui,
        present,
        loadable,
        resident,
    )
)
