"""Kafka.

``source``      `KafkaSource`: all partitions of some topics, merged by time
``merging``     the buffers of partitions and the merge
``columns``     records of a partition as arrays
``ranges``      `KafkaRanges`: ranges of offsets, read by any process
``publisher``   `KafkaPublisher` for results of a run, `publish_documents` for documents
``client``      clients of the library, and its errors in one sentence
``options``     addresses of topics and options of the client
``inspection``  offsets, lag and the newest message, for ``vmfstream doctor``
"""
