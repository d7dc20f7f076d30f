"""Learned policies of trocar: Reach by SAC, Track by a residual, NeedlePick by cloning the expert (`make learn`)."""
