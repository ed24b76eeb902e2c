"""The compiler's target USSE: registers, rules of selection, encoding, and the shader file around the code."""
