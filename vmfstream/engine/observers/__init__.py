"""What watches a run: metrics, delivery to other systems, comparison with batch models."""
