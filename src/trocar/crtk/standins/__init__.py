"""Stand-ins for the Python packages of ROS 1 and of the dVRK, for scripts that `trocar run` starts.

`launcher.run_script` puts them in the place of PyKDL, rospy, crtk, dvrk, ... while a script runs; outside of it nothing
of that name can be imported. All of them talk to one robot in this process through a `session.Session`.
"""
