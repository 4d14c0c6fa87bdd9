"""How far has a topic moved, and what is near?"""
