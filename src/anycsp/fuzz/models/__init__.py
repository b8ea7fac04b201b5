"""Broken models, training configurations and checkpoints: each is used or refused with one line, and runs no code."""
