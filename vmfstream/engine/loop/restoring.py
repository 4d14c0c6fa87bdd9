"""From stored arrays back to the model."""

from __future__ import annotations

from vmfstream.engine.loop.document_buffer import Held
from vmfstream.online.serialization import from_arrays
from vmfstream.online.state import TrackerSettings, TrackState
from vmfstream.records import Arrays
from vmfstream.text.encoders import Encoder

_ENCODER = "encoder."


def restore_model(
    encoder: Encoder, track: TrackerSettings, open_part: Arrays, slice_part: Arrays
) -> tuple[Held, TrackState | None]:
    """Let ``encoder`` continue from stored arrays; return the held documents and the tracker's state, if there was one.

    What follows is the same to the last bit as if nothing had been stored.
    """
    encoder.restore({k.removeprefix(_ENCODER): a for k, a in open_part.items() if k.startswith(_ENCODER)})
    held = Held.from_arrays(open_part, slice_part, encoder)
    if "n" not in slice_part:
        return held, None
    window, kept = held.encode(encoder)
    return held, from_arrays(open_part, slice_part, window, kept, track)
