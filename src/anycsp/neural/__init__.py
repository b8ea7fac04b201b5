"""The learned search: the policy network, its engines (PyTorch and compiled), and the shipped models."""
