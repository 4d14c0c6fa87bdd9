"""What both faces of the page are made of: HTML, data for its script, figures, and the state of a log that grows."""
