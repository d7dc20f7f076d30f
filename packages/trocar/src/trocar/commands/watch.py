"""`trocar watch`: the shadow of an arm in a running ROS system."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trocar.commands import options
from trocar.commands.options import argument, flag, option
from trocar.commands.pages import VIEW, open_page, wait_for_end
from trocar.commands.terminal import plain_errors
from trocar.files import check_writable

if TYPE_CHECKING:
    from trocar.robot.shadow import Shadow
    from trocar.transports.remote_bus import RemoteBus


@plain_errors()
def watch(
    name: Annotated[str, argument("/PSM1", "Arm in ROS.")],
    ros1: Annotated[bool, flag("The robot is in ROS 1; otherwise in ROS 2.", "--ros1/--ros2")] = False,
    arm: Annotated[
        str | None, option("ARM", f"{options.ARMS}. Default: guessed from its joints.", callback=options.arm_name)
    ] = None,
    parameters: options.ParameterSet = None,
    instrument: options.Instrument = None,
    output: Annotated[
        Path | None, option("FILE", "Write the received data to FILE.npz or .csv at the end.", "--output", "-o")
    ] = None,
    master: options.Master = None,
    domain: options.Domain = None,
    interface: options.Interface = "lo",
    host: Annotated[str, option("ADDRESS", "Address of the page.")] = "127.0.0.1",
    port: options.Port = None,
    browser: options.Browser = True,
) -> None:
    """Watch an arm of a running robot: measured motion and effort beside the model's prediction.

    Example: [bold]trocar watch /PSM1 --ros1 -p psm1.toml -o today.npz[/bold], then open the printed address.

    Sends no commands. ROS 1 requires Debian's rospy, ROS 2 pip install 'trocar\\[ros2]'.
    """
    with VIEW.needed():
        from trocar.view.pages import shadow_page
    with ExitStack() as running:
        client = running.enter_context(options.connected(ros1, master, not ros1, domain, interface))
        name = name.strip("/")
        shadow = _shadow(client, name, arm, output, parameters=parameters, instrument=instrument)
        page = open_page(running, partial(shadow_page, shadow=shadow, name=name), host=host, port=port)
        wait_for_end(page, "trocar watch", browser)
        if output is not None:
            typer.echo(f"{shadow.recording().save(output)}: {len(shadow)} rows")


def _shadow(client: RemoteBus, name: str, arm: str | None, output: Path | None, **chosen: Any) -> Shadow:
    from trocar.recording.recording import check_suffix
    from trocar.robot.settings import ArmSettings
    from trocar.robot.shadow import Shadow
    from trocar.transports.shadow import arm_of, check_arm, follow

    if output is not None:
        check_suffix(output)
        check_writable(output)
    check_arm(client, name)
    shadow = Shadow(ArmSettings(arm=arm or arm_of(client, name), **chosen), f"{name}/measured_js")
    follow(shadow, client, name)
    return shadow
