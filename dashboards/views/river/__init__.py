"""What was written about, and when?"""
