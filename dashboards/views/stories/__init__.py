"""Stories: narrow groups of documents that come and go."""
