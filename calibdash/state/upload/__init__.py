"""Files that a user drops in: recognised, checked and made into a network folder."""
