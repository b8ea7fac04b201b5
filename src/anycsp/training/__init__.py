"""Training: the search of the paper with gradients on, REINFORCE, and what it takes to stop, resume and judge it."""
