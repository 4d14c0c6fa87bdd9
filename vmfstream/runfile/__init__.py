"""The log: one DuckDB file between the engine and everything that looks at a run.

``writer.Log`` writes it, ``queries.Reader`` reads it, ``memory.MemoryLog`` keeps the same records without a file.
"""
