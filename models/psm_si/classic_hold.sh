#!/bin/sh
# Holds PSM_Si by the PID of Gazebo Classic, which every model has. Start paused, then run this, which starts the time:
#   GAZEBO_MODEL_PATH=.. gazebo -u classic.world &
#   sh classic_hold.sh
gz joint -m PSM_Si -j yaw --pos-t 0 --pos-p 108.2 --pos-i 541.2 --pos-d 10.82
gz joint -m PSM_Si -j pitch --pos-t 0 --pos-p 125.3 --pos-i 626.3 --pos-d 12.53
gz joint -m PSM_Si -j insertion --pos-t 0.12 --pos-p 299.7 --pos-i 1498 --pos-d 29.97
gz joint -m PSM_Si -j roll --pos-t 0 --pos-p 0.04492 --pos-i 0.2246 --pos-d 0.004492
gz joint -m PSM_Si -j wrist_pitch --pos-t 0 --pos-p 0.05225 --pos-i 0.2613 --pos-d 0.005225
gz joint -m PSM_Si -j wrist_yaw --pos-t 0 --pos-p 0.06101 --pos-i 0.305 --pos-d 0.006101
gz joint -m PSM_Si -j jaw --pos-t 0 --pos-p 0.01447 --pos-i 0.07235 --pos-d 0.001447
gz world -p 0
