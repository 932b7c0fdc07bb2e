"""Answers of many models to a set of prompts, and battles made of them."""
