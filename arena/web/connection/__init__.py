"""What keeps a page alive on a bad line; the scripts are served before Gradio's own."""
