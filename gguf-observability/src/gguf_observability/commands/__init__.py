"""The commands of gguf-observe, one a module: `add` declares its options, `run` does it."""
