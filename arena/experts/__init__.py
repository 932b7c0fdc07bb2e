"""Experts who judge the crowd's battles again."""
