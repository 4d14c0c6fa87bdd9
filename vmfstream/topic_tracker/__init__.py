"""`TopicTracker`: texts in, topics over time out, without a file."""
