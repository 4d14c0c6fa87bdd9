"""Views: one folder for each panel of the page, or one file if the panel has no figure.

In a folder ``view.py`` turns rows into a frame and a frame into a drawing, ``panel.py`` puts it on the page; the other
files are parts of the way.
"""
