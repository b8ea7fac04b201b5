"""The paper's experiments as one command, against real baselines: instances → runs (JSON lines) → report."""
