"""What stands beside the scene: controls, plots and numbers. Each panel asks the session; none touches a simulator."""
