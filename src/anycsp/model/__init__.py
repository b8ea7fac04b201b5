"""What a user writes: variables, domains, expressions, constraints, an objective."""
