"""Shapes of arms, carts and instruments, carved with manifold3d; `python -m tools.shapes` writes `arms/data/meshes`."""
