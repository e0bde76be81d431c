"""Learners: a named choice of rules, validated, with ask and tell."""
