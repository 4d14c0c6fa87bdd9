"""May I trust this?"""
