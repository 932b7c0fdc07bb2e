"""How far experts, judges and the crowd agree on the battles on record."""
