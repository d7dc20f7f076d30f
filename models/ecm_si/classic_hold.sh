#!/bin/sh
# Holds ECM_Si by the PID of Gazebo Classic, which every model has. Start paused, then run this, which starts the time:
#   GAZEBO_MODEL_PATH=.. gazebo -u classic.world &
#   sh classic_hold.sh
gz joint -m ECM_Si -j yaw --pos-t 0 --pos-p 213.5 --pos-i 1068 --pos-d 21.35
gz joint -m ECM_Si -j pitch --pos-t 0 --pos-p 256.8 --pos-i 1284 --pos-d 25.68
gz joint -m ECM_Si -j insertion --pos-t 0.12 --pos-p 720.8 --pos-i 3604 --pos-d 72.08
gz joint -m ECM_Si -j roll --pos-t 0 --pos-p 0.441 --pos-i 2.205 --pos-d 0.0441
gz world -p 0
