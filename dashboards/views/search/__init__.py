"""Where does a word live?"""
