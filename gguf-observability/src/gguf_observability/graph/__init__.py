"""The engine's compute graph as shapes: what it computes, in which order, and the memory that takes."""
