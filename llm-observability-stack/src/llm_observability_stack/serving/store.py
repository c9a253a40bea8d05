"""Where Ollama keeps its models, and whether that outlives its pod."""

from edge_llm_tests.fields import mapping, objects, text

from llm_observability_stack.serving.observe import Asking

__all__ = ["passing_store"]

_HOME_STORE = "/.ollama"
_DEFAULT_STORE = "/root/.ollama/models"


def passing_store(asking: Asking) -> str:
    """How the models go with the pod, where they do; empty where a volume keeps them."""
    env = asking.container.env
    home = env.get("HOME", "")
    store = env.get("OLLAMA_MODELS") or (f"{home}{_HOME_STORE}/models" if home else _DEFAULT_STORE)
    covering = [
        (path, text(raw, "name"))
        for raw in objects(asking.container.raw, "volumeMounts")
        if (path := text(raw, "mountPath").rstrip("/")) and f"{store}/".startswith(f"{path}/")
    ]
    if not covering:
        mounted = ", ".join(text(raw, "mountPath") for raw in objects(asking.container.raw, "volumeMounts"))
        return f"{store} is on no volume (mounted: {mounted or 'none'})"
    path, name = max(covering)
    volume = next((each for each in asking.spec.volumes if text(each, "name") == name), {})
    if "emptyDir" in volume or mapping(volume, "emptyDir"):
        return f"{path} is an emptyDir"
    return ""
