"""Public classes for programs that have their texts at hand."""
