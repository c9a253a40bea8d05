"""The commands of `edge`, one module each; heavy imports stand inside their functions."""
