"""Turn documents into unit vectors: tokens, a vocabulary that grows with the stream, tf-idf; or ready vectors."""
