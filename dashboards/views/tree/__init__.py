"""Which topics belong together?"""
