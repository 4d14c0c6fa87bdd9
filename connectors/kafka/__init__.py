"""Kafka.

``source``      `KafkaSource`: all partitions of some topics, merged by time
``partitions``  records of a partition as columns, their buffers and the merge
``ranges``      `KafkaRanges`: ranges of offsets, read by any process
``registry``    `SchemaRegistry`: schemas of messages, asked of a registry
``schemas``     Avro, Protobuf and JSON by these schemas
``registered``  `KafkaSource` and `KafkaRanges` with messages by schemas
``publisher``   `KafkaPublisher` for results of a run, `publish_documents` for documents
``client``      clients of the library, and its errors in one sentence
``options``     addresses of topics and options of the client
``inspection``  offsets, lag and the newest message, for ``vmfstream doctor``
"""
