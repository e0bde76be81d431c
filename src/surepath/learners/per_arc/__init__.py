"""Learners that bound each arc alone: EPRL and BPI-UCRL, made of rules."""
