"""Published tables and figures computed again, the printed value beside ours."""
