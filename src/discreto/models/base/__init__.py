"""What all models share: reading rows, features, weights, budgets and files."""
