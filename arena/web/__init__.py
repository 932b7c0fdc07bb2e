"""Pages for voters, experts and analysts, on Gradio and FastAPI."""

import os

# Gradio reads these when it is imported or makes a queue, so they stand before all pages.
# After every event it would make a pandas table of the last 10,000 for a page that is shut.
GRADIO_ENVIRONMENT = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "GRADIO_ANALYTICS_MAX_EVENTS": "1",
    "GRADIO_ANALYTICS_CACHE_FREQUENCY": "1000000000",
    # The sign of life of an open stream, in seconds; `connection.js` takes four for a dead line.
    "GRADIO_HEARTBEAT_INTERVAL": "5",
}
for _name, _value in GRADIO_ENVIRONMENT.items():
    os.environ.setdefault(_name, _value)
