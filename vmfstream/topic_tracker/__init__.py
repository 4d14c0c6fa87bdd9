"""`TopicTracker`: learn texts, ask for their topics, and get rows of topics over time."""
