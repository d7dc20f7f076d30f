#!/bin/sh
# Holds ECM by the PID of Gazebo Classic, which every model has. Start paused, then run this, which starts the time:
#   GAZEBO_MODEL_PATH=.. gazebo -u classic.world &
#   sh classic_hold.sh
gz joint -m ECM -j yaw --pos-t 0 --pos-p 266.8 --pos-i 1334 --pos-d 26.68
gz joint -m ECM -j pitch --pos-t 0 --pos-p 271.8 --pos-i 1359 --pos-d 27.18
gz joint -m ECM -j insertion --pos-t 0.12 --pos-p 692.4 --pos-i 3462 --pos-d 69.24
gz joint -m ECM -j roll --pos-t 0 --pos-p 0.3675 --pos-i 1.838 --pos-d 0.03675
gz world -p 0
