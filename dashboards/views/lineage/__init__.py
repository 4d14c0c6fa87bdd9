"""Where did topics come from, and where did they go?"""
