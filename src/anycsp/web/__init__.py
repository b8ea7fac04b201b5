"""`anycsp serve`: a local page to watch searches and training runs.

The server queues, relays and ends; it never reads a problem. Every problem is read and searched by a process of its own
(`worker.py`) with limits of memory and time, which reports in lines of JSON.
"""
