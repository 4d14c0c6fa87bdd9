"""What all views share: colours, texts, text measurement, and escaping of foreign text."""
