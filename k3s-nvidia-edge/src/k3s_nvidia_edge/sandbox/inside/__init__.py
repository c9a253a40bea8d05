"""What runs inside the node: its first process, and the sandbox's programs beside the real ones."""
