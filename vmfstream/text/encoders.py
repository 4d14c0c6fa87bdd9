"""Documents to unit rows: the encoders under one name."""

from vmfstream.text.counts import Counts
from vmfstream.text.protocol import Counted, Encoder, Place, TopWords
from vmfstream.text.text_encoder import TextEncoder
from vmfstream.text.top_words import strongest_words
from vmfstream.text.vector_encoder import VectorEncoder, Vectors
from vmfstream.text.vocabulary import Growth

__all__ = [
    "Counted",
    "Counts",
    "Encoder",
    "Growth",
    "Place",
    "TextEncoder",
    "TopWords",
    "VectorEncoder",
    "Vectors",
    "strongest_words",
]
