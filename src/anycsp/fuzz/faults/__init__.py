"""Faults from outside: signals at any moment, a full disk, a reader that leaves. Each trial is a process of its own."""
