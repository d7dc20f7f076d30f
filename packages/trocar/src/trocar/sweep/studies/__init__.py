"""Studies shipped with trocar; `trocar.sweep.study` defines a study."""
