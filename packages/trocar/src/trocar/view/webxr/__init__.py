"""A phone or headset as master: a page for its browser over HTTPS, and the poses that the page sends back.

Browsers offer WebXR and motion sensors to encrypted pages only, hence the certificate. This package needs the extra
`vr` and does not import viser.
"""

from trocar.view.webxr.certificate import certificate_file
from trocar.view.webxr.pose_server import PoseServer

__all__ = ["PoseServer", "certificate_file"]
