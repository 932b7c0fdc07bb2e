"""How far judges of several kinds agree, and what their verdicts are worth."""
