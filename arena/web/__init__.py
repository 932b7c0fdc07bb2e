"""Gradio pages on a FastAPI app; texts and styles beside them."""
