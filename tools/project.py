"""Facts of the project that several files state."""

# Address of the repository; empty until it is public. Fill it in here: `make release-check` then requires it as
# [project.urls] of every package, and the drafts in packaging/drafts name it.
REPOSITORY = ""
