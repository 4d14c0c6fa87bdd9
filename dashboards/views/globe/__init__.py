"""Where do all topics stand, and where are they going?"""
