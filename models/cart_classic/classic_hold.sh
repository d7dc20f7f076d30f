#!/bin/sh
# Holds cart_classic by the PID of Gazebo Classic, which every model has. Start paused, then run this, which starts the time:
#   GAZEBO_MODEL_PATH=.. gazebo -u classic.world &
#   sh classic_hold.sh
gz joint -m cart_classic -j PSM1_yaw --pos-t -0.089 --pos-p 75.34 --pos-i 376.7 --pos-d 7.534
gz joint -m cart_classic -j PSM1_pitch --pos-t -0.078 --pos-p 77.46 --pos-i 387.3 --pos-d 7.746
gz joint -m cart_classic -j PSM1_insertion --pos-t 0.176 --pos-p 285.2 --pos-i 1426 --pos-d 28.52
gz joint -m cart_classic -j PSM1_roll --pos-t 0 --pos-p 0.03231 --pos-i 0.1616 --pos-d 0.003231
gz joint -m cart_classic -j PSM1_wrist_pitch --pos-t 0 --pos-p 0.03765 --pos-i 0.1882 --pos-d 0.003765
gz joint -m cart_classic -j PSM1_wrist_yaw --pos-t 0 --pos-p 0.04389 --pos-i 0.2194 --pos-d 0.004389
gz joint -m cart_classic -j PSM1_jaw --pos-t 0.5 --pos-p 0.01041 --pos-i 0.05205 --pos-d 0.001041
gz joint -m cart_classic -j PSM2_yaw --pos-t 0.007 --pos-p 65.4 --pos-i 327 --pos-d 6.54
gz joint -m cart_classic -j PSM2_pitch --pos-t -0.326 --pos-p 80.82 --pos-i 404.1 --pos-d 8.082
gz joint -m cart_classic -j PSM2_insertion --pos-t 0.138 --pos-p 285.2 --pos-i 1426 --pos-d 28.52
gz joint -m cart_classic -j PSM2_roll --pos-t 0 --pos-p 0.03231 --pos-i 0.1616 --pos-d 0.003231
gz joint -m cart_classic -j PSM2_wrist_pitch --pos-t 0 --pos-p 0.03765 --pos-i 0.1882 --pos-d 0.003765
gz joint -m cart_classic -j PSM2_wrist_yaw --pos-t 0 --pos-p 0.04389 --pos-i 0.2194 --pos-d 0.004389
gz joint -m cart_classic -j PSM2_jaw --pos-t 0.5 --pos-p 0.01041 --pos-i 0.05205 --pos-d 0.001041
gz joint -m cart_classic -j PSM3_yaw --pos-t -0.014 --pos-p 80.58 --pos-i 402.9 --pos-d 8.058
gz joint -m cart_classic -j PSM3_pitch --pos-t -0.017 --pos-p 80.43 --pos-i 402.1 --pos-d 8.043
gz joint -m cart_classic -j PSM3_insertion --pos-t 0.142 --pos-p 285.2 --pos-i 1426 --pos-d 28.52
gz joint -m cart_classic -j PSM3_roll --pos-t 0 --pos-p 0.03231 --pos-i 0.1616 --pos-d 0.003231
gz joint -m cart_classic -j PSM3_wrist_pitch --pos-t 0 --pos-p 0.03765 --pos-i 0.1882 --pos-d 0.003765
gz joint -m cart_classic -j PSM3_wrist_yaw --pos-t 0 --pos-p 0.04389 --pos-i 0.2194 --pos-d 0.004389
gz joint -m cart_classic -j PSM3_jaw --pos-t 0.5 --pos-p 0.01041 --pos-i 0.05205 --pos-d 0.001041
gz joint -m cart_classic -j ECM_yaw --pos-t 0 --pos-p 266.8 --pos-i 1334 --pos-d 26.68
gz joint -m cart_classic -j ECM_pitch --pos-t 0 --pos-p 271.8 --pos-i 1359 --pos-d 27.18
gz joint -m cart_classic -j ECM_insertion --pos-t 0.12 --pos-p 692.4 --pos-i 3462 --pos-d 69.24
gz joint -m cart_classic -j ECM_roll --pos-t 0 --pos-p 0.3675 --pos-i 1.838 --pos-d 0.03675
gz world -p 0
