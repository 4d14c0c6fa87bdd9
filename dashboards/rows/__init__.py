"""Rows of the run file as arrays over slices and topics, and quantities that several views derive from them."""
