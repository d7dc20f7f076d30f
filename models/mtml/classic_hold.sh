#!/bin/sh
# Holds MTML by the PID of Gazebo Classic, which every model has. Start paused, then run this, which starts the time:
#   GAZEBO_MODEL_PATH=.. gazebo -u classic.world &
#   sh classic_hold.sh
gz joint -m MTML -j outer_yaw --pos-t 0 --pos-p 59.57 --pos-i 297.8 --pos-d 5.957
gz joint -m MTML -j shoulder_pitch --pos-t 0 --pos-p 93.05 --pos-i 465.3 --pos-d 9.305
gz joint -m MTML -j elbow_pitch --pos-t 0 --pos-p 47.63 --pos-i 238.1 --pos-d 4.763
gz joint -m MTML -j wrist_platform --pos-t 0 --pos-p 0.6678 --pos-i 3.339 --pos-d 0.06678
gz joint -m MTML -j wrist_pitch --pos-t 0 --pos-p 0.2632 --pos-i 1.316 --pos-d 0.02632
gz joint -m MTML -j wrist_yaw --pos-t 0 --pos-p 0.1373 --pos-i 0.6863 --pos-d 0.01373
gz joint -m MTML -j wrist_roll --pos-t 0 --pos-p 0.0006504 --pos-i 0.003252 --pos-d 6.504e-05
gz world -p 0
