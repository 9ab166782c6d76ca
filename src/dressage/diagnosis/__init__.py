"""From a run to what holds it back: symptoms, causes, prescriptions."""
