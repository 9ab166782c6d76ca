"""What is put wrong: wrappers of environments, and patches of code."""
