"""What is the same in all views: colours, sentences, letters, and text of strangers made harmless."""
