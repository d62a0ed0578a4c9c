"""Models as JSON files and for scikit-learn, ONNX and MLflow."""
