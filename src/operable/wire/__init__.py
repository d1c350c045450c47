"""Bytes to lines to events and back, without I/O: codecs that are fed bytes and never wait for them."""
