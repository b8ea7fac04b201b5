"""Other libraries' problems: each module imports its library only when it is itself imported."""
