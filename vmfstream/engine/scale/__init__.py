"""Scale-out: ranges of offsets are read and scored by workers, and the driver adds up their sums."""
