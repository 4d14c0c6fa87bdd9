"""The encoders, which turn documents into unit rows, and their protocols."""

from vmfstream.text.counts import Counts
from vmfstream.text.protocol import (
    Counted,
    CountStorage,
    DocumentEncoder,
    Encoder,
    Place,
    TopicNaming,
    TopWords,
    WordCounting,
    WorkerEncoder,
)
from vmfstream.text.text_encoder import TextEncoder
from vmfstream.text.top_words import strongest_words
from vmfstream.text.vector_encoder import VectorEncoder, Vectors
from vmfstream.text.vocabulary import Growth

__all__ = [
    "CountStorage",
    "Counted",
    "Counts",
    "DocumentEncoder",
    "Encoder",
    "Growth",
    "Place",
    "TextEncoder",
    "TopWords",
    "TopicNaming",
    "VectorEncoder",
    "Vectors",
    "WordCounting",
    "WorkerEncoder",
    "strongest_words",
]
