"""The exported models in Gazebo Classic 11 itself: free fall, held and moved joints, gaps of loops, real-time factors.

make gazebo            # root on Debian; installs Debian 11 with Gazebo in build/gazebo (2.7 GB) the first time
"""
