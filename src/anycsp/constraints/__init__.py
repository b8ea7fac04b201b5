"""Constraint families: one file each, all speaking the protocol of `base`."""
