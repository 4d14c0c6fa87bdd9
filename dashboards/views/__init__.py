"""One question, one picture: a folder, or a file where there is nothing to draw, for each panel of the page.

In a folder ``view.py`` turns rows into a frame and a frame into a drawing, ``panel.py`` puts it on the page; the other
files are parts of the way.
"""
