"""The trace of a program, step by step, as files: traces for Perfetto, and pages for stepping by hand."""
