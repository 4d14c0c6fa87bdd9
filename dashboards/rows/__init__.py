"""From rows of the log to arrays over slices and topics, and what several views read from these."""
