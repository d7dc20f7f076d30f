#!/bin/sh
# Holds PSM by the PID of Gazebo Classic, which every model has. Start paused, then run this, which starts the time:
#   GAZEBO_MODEL_PATH=.. gazebo -u classic.world &
#   sh classic_hold.sh
gz joint -m PSM -j yaw --pos-t 0 --pos-p 83.39 --pos-i 417 --pos-d 8.339
gz joint -m PSM -j pitch --pos-t 0 --pos-p 82.7 --pos-i 413.5 --pos-d 8.27
gz joint -m PSM -j insertion --pos-t 0.12 --pos-p 285.2 --pos-i 1426 --pos-d 28.52
gz joint -m PSM -j roll --pos-t 0 --pos-p 0.03231 --pos-i 0.1616 --pos-d 0.003231
gz joint -m PSM -j wrist_pitch --pos-t 0 --pos-p 0.03765 --pos-i 0.1882 --pos-d 0.003765
gz joint -m PSM -j wrist_yaw --pos-t 0 --pos-p 0.04389 --pos-i 0.2194 --pos-d 0.004389
gz joint -m PSM -j jaw --pos-t 0 --pos-p 0.01041 --pos-i 0.05205 --pos-d 0.001041
gz world -p 0
