"""The vector cascade: a bank of vectors, a next-vector model, Task/Modifier/Domain codes, and their evaluation."""
