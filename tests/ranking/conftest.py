from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).parents[2] / "../shared/data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The public preference data that lies beside the checkout, not inside it."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the public preference data is not beside this checkout (../shared/data)")
    return SHARED_DATA
