"""Layers 2 and 3: Ollama, its models, metrics, alerts and dashboards."""
