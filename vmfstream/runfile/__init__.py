"""The run file: one DuckDB file that a run writes and everything else reads.

``writer``        `RunFile`: write epochs, settings and states, in transactions
``coalescing``    several epochs as one write
``queries``       `Reader`: ask for rows as frames of numpy columns
``snapshots``     read the sample for batch fits, and write their results
``memory``        `MemoryStore`: the same records without a file
``schema``        tables and migrations; ``upgrade`` applies them to a file of an older format
``rows``          records as columns of tables; ``arrays`` and ``json_records`` as bytes and as JSON
``verification``  read everything, and check that the tables agree
``connection``    open the file for a moment; ``rollback`` undoes what was cut off; ``lease`` keeps others from writing
"""
