"""Studies that trocar ships; see `trocar.sweep.study` for what a study is."""
