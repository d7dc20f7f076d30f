"""Writes the files of shapes in `arms/data/meshes`."""

from tools.shapes.files import contents
from trocar.appearance.sketch import FOLDER
from trocar.files import write_whole

if __name__ == "__main__":
    for name, content in contents().items():
        print(write_whole(FOLDER / f"{name}.npz", content))
