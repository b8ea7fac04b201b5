"""Many searches at once: in processes of this machine, or on a Ray cluster, through one face (`workers.py`)."""
