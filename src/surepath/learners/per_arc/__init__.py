"""Learners that bound each arc alone: EPRL, BPI-UCRL and Uniform, made of rules."""
