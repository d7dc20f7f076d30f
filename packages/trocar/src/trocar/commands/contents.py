"""All commands of this package, under the headings of `trocar --help`."""

from trocar.commands.bench import bench
from trocar.commands.boards import boards
from trocar.commands.command import CommandEntry
from trocar.commands.crtk_check import crtk_check
from trocar.commands.demo import demo
from trocar.commands.export import export
from trocar.commands.identification.calibrate import calibrate, gravity
from trocar.commands.identification.excite import excite
from trocar.commands.identification.excite_wrist import excite_wrist
from trocar.commands.identification.force import force
from trocar.commands.identification.identify import identify
from trocar.commands.identification.identify_wrist import identify_wrist
from trocar.commands.recordings import compare, render
from trocar.commands.run import run
from trocar.commands.scene import scene
from trocar.commands.serve import launch_files, ros1, ros2, serve
from trocar.commands.simulate import follow, sim
from trocar.commands.sweep import sweep
from trocar.commands.teleop import teleop
from trocar.commands.view import view
from trocar.commands.watch import watch

COMMANDS = (
    *(CommandEntry(run=function, panel="Look") for function in (demo, view, render, compare)),
    *(CommandEntry(run=function, panel="Simulate") for function in (sim, follow, scene, sweep, export, bench)),
    CommandEntry(run=run, panel="Your robot", passes_arguments=True),
    CommandEntry(run=serve, panel="Your robot", is_group=True),
    CommandEntry(run=teleop, panel="Your robot", is_group=True),
    *(CommandEntry(run=function, panel="Your robot") for function in (watch, crtk_check)),
    *(CommandEntry(run=f, panel="Identify") for f in (excite, identify, excite_wrist, identify_wrist)),
    *(CommandEntry(run=f, panel="Identify") for f in (calibrate, gravity, force)),
    *(CommandEntry(run=function, group="serve") for function in (ros1, ros2, boards, launch_files)),
)
