"""Base of all models: rows, features, weights, views, and the estimator itself."""
