"""How did the words of a topic change?"""
