#!/bin/sh
# Holds cart_si by the PID of Gazebo Classic, which every model has. Start paused, then run this, which starts the time:
#   GAZEBO_MODEL_PATH=.. gazebo -u classic.world &
#   sh classic_hold.sh
gz joint -m cart_si -j PSM1_yaw --pos-t 0.738 --pos-p 84.65 --pos-i 423.3 --pos-d 8.465
gz joint -m cart_si -j PSM1_pitch --pos-t -0.352 --pos-p 125.8 --pos-i 629.2 --pos-d 12.58
gz joint -m cart_si -j PSM1_insertion --pos-t 0.117 --pos-p 299.7 --pos-i 1498 --pos-d 29.97
gz joint -m cart_si -j PSM1_roll --pos-t 0 --pos-p 0.04492 --pos-i 0.2246 --pos-d 0.004492
gz joint -m cart_si -j PSM1_wrist_pitch --pos-t 0 --pos-p 0.05225 --pos-i 0.2613 --pos-d 0.005225
gz joint -m cart_si -j PSM1_wrist_yaw --pos-t 0 --pos-p 0.06101 --pos-i 0.305 --pos-d 0.006101
gz joint -m cart_si -j PSM1_jaw --pos-t 0.5 --pos-p 0.01447 --pos-i 0.07235 --pos-d 0.001447
gz joint -m cart_si -j PSM2_yaw --pos-t -0.795 --pos-p 94.04 --pos-i 470.2 --pos-d 9.404
gz joint -m cart_si -j PSM2_pitch --pos-t -0.276 --pos-p 129.1 --pos-i 645.7 --pos-d 12.91
gz joint -m cart_si -j PSM2_insertion --pos-t 0.1 --pos-p 299.7 --pos-i 1498 --pos-d 29.97
gz joint -m cart_si -j PSM2_roll --pos-t 0 --pos-p 0.04492 --pos-i 0.2246 --pos-d 0.004492
gz joint -m cart_si -j PSM2_wrist_pitch --pos-t 0 --pos-p 0.05225 --pos-i 0.2613 --pos-d 0.005225
gz joint -m cart_si -j PSM2_wrist_yaw --pos-t 0 --pos-p 0.06101 --pos-i 0.305 --pos-d 0.006101
gz joint -m cart_si -j PSM2_jaw --pos-t 0.5 --pos-p 0.01447 --pos-i 0.07235 --pos-d 0.001447
gz joint -m cart_si -j PSM3_yaw --pos-t -1.007 --pos-p 70.89 --pos-i 354.5 --pos-d 7.089
gz joint -m cart_si -j PSM3_pitch --pos-t -0.481 --pos-p 122.9 --pos-i 614.4 --pos-d 12.29
gz joint -m cart_si -j PSM3_insertion --pos-t 0.133 --pos-p 299.7 --pos-i 1498 --pos-d 29.97
gz joint -m cart_si -j PSM3_roll --pos-t 0 --pos-p 0.04492 --pos-i 0.2246 --pos-d 0.004492
gz joint -m cart_si -j PSM3_wrist_pitch --pos-t 0 --pos-p 0.05225 --pos-i 0.2613 --pos-d 0.005225
gz joint -m cart_si -j PSM3_wrist_yaw --pos-t 0 --pos-p 0.06101 --pos-i 0.305 --pos-d 0.006101
gz joint -m cart_si -j PSM3_jaw --pos-t 0.5 --pos-p 0.01447 --pos-i 0.07235 --pos-d 0.001447
gz joint -m cart_si -j ECM_yaw --pos-t 0 --pos-p 212.8 --pos-i 1064 --pos-d 21.28
gz joint -m cart_si -j ECM_pitch --pos-t 0.35 --pos-p 256.8 --pos-i 1284 --pos-d 25.68
gz joint -m cart_si -j ECM_insertion --pos-t 0.12 --pos-p 720.8 --pos-i 3604 --pos-d 72.08
gz joint -m cart_si -j ECM_roll --pos-t 0 --pos-p 0.441 --pos-i 2.205 --pos-d 0.0441
gz world -p 0
