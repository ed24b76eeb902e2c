"""The 3D pipeline around the Tesla multiprocessors: programs of the graphics stages, rasterization, output merge."""
