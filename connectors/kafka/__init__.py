"""Kafka: the source, the publisher and what they need."""
