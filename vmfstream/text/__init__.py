"""From documents to unit vectors: words, the vocabulary that grows with the stream, tf-idf; or vectors as they are."""
