"""What the exported and the live page are made of: HTML, data for the script, figures, and polling of the run file."""
