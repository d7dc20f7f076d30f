"""`trocar view DATA`: the episodes of a data set, to choose and to play."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trocar.commands.pages import VIEW as EXTRA
from trocar.errors import TrocarError

if TYPE_CHECKING:
    from trocar.commands.view import Shown


class DataSetView:
    """Folders and HDF5 files of data sets; an entry point `trocar.views`."""

    def accepts(self, what: str) -> bool:
        """True for the folder or HDF5 file of a data set."""
        from trocar.recording.bag_file import is_bag
        from trocar_learning.episodes.reading import HDF5_SUFFIXES

        path = Path(what)
        if path.suffix.lower() in HDF5_SUFFIXES:
            return True
        try:
            return path.is_dir() and not is_bag(path)
        except (OSError, ValueError):
            return False

    def show(self, what: str, shown: Shown, first: int = 0) -> None:
        """Show the data set from an episode on, until Ctrl-C."""
        from trocar.robot import Robot
        from trocar.robot.settings import ArmSettings
        from trocar_learning.episodes import load_episodes

        with EXTRA.needed():
            from trocar.view.pages import viewer_page
            from trocar_learning.view.episode_panel import EpisodePanel
        episodes = load_episodes(what)
        if not 0 <= first < len(episodes):
            raise TrocarError(f"{what} has the episodes 0 to {len(episodes) - 1}, got {first}")
        settings = ArmSettings(arm="PSM")
        with ExitStack() as running:
            robot = running.enter_context(Robot(settings.build(), speed="real", start="ready", playing=False))
            chooser = partial(EpisodePanel, episodes, first)
            page = shown.open(
                running,
                partial(
                    viewer_page,
                    robot=robot,
                    reports=shown.reports,
                    settings=settings,
                    recording=True,
                    chooser=chooser,
                ),
            )
            page.run(page.panel(EpisodePanel).open)
            shown.wait(page)


VIEW = DataSetView()
