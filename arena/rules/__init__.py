"""The rules of battles, experts and judgements: values in, values out, no I/O."""
