"""Documents to unit rows: the encoders under one name."""

from vmfstream.text.counts import Counts
from vmfstream.text.protocol import Counted, Encoder, Place, TopWords
from vmfstream.text.strongest import strongest_words
from vmfstream.text.texts import TextEncoder
from vmfstream.text.vectors import VectorEncoder, Vectors
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
