"""The scene of the peg transfer of the ICRA 2026 competition "AI for Robotic Surgery", with the board at a drawn pose.

Its rules are `trocar_learning.envs.tasks.peg_rules`, those of the task and of a live robot.
"""

from trocar_learning.contest.peg_board import ContestSetting, contest_scene, draw_setting, seeded_setting

__all__ = ["ContestSetting", "contest_scene", "draw_setting", "seeded_setting"]
