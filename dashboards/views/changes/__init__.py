"""What changed lately?"""
